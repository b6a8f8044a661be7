"""Running a person's own tools, whose ``print`` must not end up among what Marvin itself writes to standard output."""

import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import redirect_stdout
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def printing_to_stderr(start: Callable[[], Awaitable[T]]) -> Generator[Any, Any, T]:
    """Await ``start()``; while its code runs, and only then, standard output is standard error."""
    with redirect_stdout(sys.stderr):
        steps: Any = start().__await__()
    step: Callable[[], Any] = steps.__next__
    while True:
        try:
            with redirect_stdout(sys.stderr):
                waiting_for = step()
        except StopIteration as end:
            return end.value
        try:
            answer = yield waiting_for
        except BaseException as error:
            step = _throwing(steps, error)
        else:
            step = _sending(steps, answer)


def _sending(steps: Any, answer: object) -> Callable[[], Any]:
    return lambda: next(steps) if answer is None else steps.send(answer)


def _throwing(steps: Any, error: BaseException) -> Callable[[], Any]:
    if hasattr(steps, "throw"):
        return lambda: steps.throw(error)
    raise error
