def one():
    print(1)
    return 1


def two():
    return 2
