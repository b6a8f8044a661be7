"""Commands that every front-end has: options of the session, undo and usage."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action
from marvin_cli.view.base import Choice
from marvin_server.errors import MarvinError
from marvin_server.session import commands
from marvin_server.session.commands import Command, Typed

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop

_CHOSEN = ("mode", "model", "provider", "thinking")


def _action(command: Command) -> Action:
    is_chosen = command.name in _CHOSEN

    async def run(loop: "Loop", argument: str) -> None:
        if not argument and is_chosen and not loop.in_order:
            argument = await loop.choose(command.name.capitalize(), await _choices(loop, command.name)) or ""
        lines = await commands.run(Typed(command, argument), loop.conversation)
        loop.view.say("\n".join(lines), "output")

    return Action(
        command.name, command.description, run, command.argument, _chooser(command.name) if is_chosen else None
    )


def _chooser(name: str) -> "Callable[[Loop], Awaitable[Sequence[Choice]]]":
    async def choices(loop: "Loop") -> Sequence[Choice]:
        return await _choices(loop, name)

    return choices


async def _choices(loop: "Loop", name: str) -> Sequence[Choice]:
    option = next(each for each in await loop.conversation.options() if each.name == name)
    if name == "model":
        return await _models(loop)
    return [
        Choice(each.value, each.value, "now" if each.value == option.value else each.meaning or "")
        for each in option.values
    ]


async def _models(loop: "Loop") -> Sequence[Choice]:
    from marvin_server.session.offers import OfferedModel, offer

    provider, settings = loop.conversation.choice.provider, loop.conversation.settings

    def described(model: OfferedModel) -> Choice:
        context = f"{model.facts.context:,} tokens" if model.facts.context else ""
        return Choice(model.name, model.name, "now" if model.name == provider.model else context)

    try:
        offered = await asyncio.to_thread(offer, provider.name, settings, asked_for=True)
    except MarvinError:
        return [Choice(provider.model, provider.model, "now")]
    named = {each.name: described(each) for each in (*filter(None, [offered.own]), *offered.listed)}
    return [*({provider.model: Choice(provider.model, provider.model, "now")} | named).values()]


async def _usage(loop: "Loop", _: str) -> None:
    loop.view.say(loop.conversation.tally().report(), "output")


ACTIONS = (
    *(_action(each) for each in commands.COMMANDS if each.name not in ("help", "usage")),
    Action("usage", "Show the tokens and the money that this session has used", _usage),
    Action("cost", "As /usage", _usage),
)
