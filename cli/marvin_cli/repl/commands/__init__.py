"""Marvin's own commands in a terminal, each a row of a table; a person's own ones are added to it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop


def built_in() -> Mapping[str, Action]:
    """The commands that are always there, by their names."""
    from marvin_cli.repl.commands import changes, modes, options, person, sessions, terminal

    modules = (terminal, options, modes, sessions, changes, person)
    return {action.name: action for module in modules for action in module.ACTIONS}


async def known(loop: "Loop") -> Mapping[str, Action]:
    """All commands, by their names; one of a person's own does not take the place of a built-in one."""
    from marvin_cli.repl.commands import custom

    return {**await custom.found(loop), **built_in()}
