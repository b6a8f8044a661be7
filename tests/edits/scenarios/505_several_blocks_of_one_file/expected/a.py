def one():
    return 10


def two():
    return 20
