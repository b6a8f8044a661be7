"""The ways of opening a path beneath a root that this system has."""

import os

from marvin_server.workspace.beneath import Opener, best_opener, by_walking


def _openers() -> list[Opener]:
    fd = os.open("/", os.O_RDONLY)
    try:
        return list(dict.fromkeys([best_opener(fd), by_walking]))
    finally:
        os.close(fd)


OPENERS = _openers()
