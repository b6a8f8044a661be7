"""Commands that change what a line means, and who answers it."""

from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action
from marvin_server.errors import UsageError

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop

_HIGH = "MARVIN_CODE_MODEL_HIGH"


async def _code(loop: "Loop", _: str) -> None:
    conversation = loop.conversation
    conversation.check_idle()
    await conversation.open(conversation.session.id, coding=not conversation.coding)
    loop.following.follow()
    limits = "50 rounds, 15 minutes for a request" if conversation.coding else "10 rounds, 3 minutes for a request"
    loop.view.say(f"Coding mode is {'on' if conversation.coding else 'off'}: {limits}", "note")


async def _shell(loop: "Loop", line: str) -> None:
    if line:
        raise UsageError("write `!COMMAND` for one command; /shell alone switches shell mode on and off")
    loop.shell_mode = not loop.shell_mode
    if loop.shell_mode:
        loop.view.say(
            f"Shell mode is on, in {loop.shell.directory}: each line is a command of yours; exit leaves it", "note"
        )
    else:
        loop.view.say("Shell mode is off", "note")


async def _pro(loop: "Loop", _: str) -> None:
    conversation = loop.conversation
    if loop.model_before_pro is not None:
        await conversation.change("model", loop.model_before_pro)
        loop.model_before_pro = None
    else:
        high = conversation.settings.environ.get(_HIGH)
        if not high:
            raise UsageError(f"/pro needs the name of a model in {_HIGH}: set it, then start marvin again")
        before = conversation.choice.provider.model
        await conversation.change("model", high)
        loop.model_before_pro = before
    loop.view.say(f"Model: {conversation.choice.provider.model}", "note")


async def _voice(_loop: "Loop", _: str) -> None:
    raise UsageError("voice input needs a microphone tool, which is not part of this version")


async def _blender(_loop: "Loop", _: str) -> None:
    raise UsageError("Blender mode needs the tools for Blender, which are not part of this version")


ACTIONS = (
    Action("code", "Switch coding mode, with more rounds and time, on and off", _code),
    Action("shell", "Switch shell mode, in which each line is a command of yours, on and off", _shell),
    Action("sh", "As /shell", _shell),
    Action("pro", f"Go on with the model that {_HIGH} names, and back", _pro),
    Action("voice", "Speak in place of typing", _voice, ""),
    Action("v", "Speak one prompt", _voice, "[SECONDS]"),
    Action("blender", "Work with Blender", _blender),
)
