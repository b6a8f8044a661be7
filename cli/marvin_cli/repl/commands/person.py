"""Commands about the person's own files: preferences, profiles and places."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action, aligned
from marvin_cli.view.base import Choice
from marvin_cli.view.editor import edit
from marvin_server.errors import MarvinError
from marvin_server.profiles import files, preferences, profile
from marvin_server.profiles.preferences import Broken

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop


async def _preferences(loop: "Loop", _: str) -> None:
    """Let the person edit the file; one that cannot be understood is kept aside, and the earlier one holds."""
    file = loop.person.profile.preferences_file
    try:
        before = _begun(file)
        code = await loop.view.aside(partial(edit, file, loop.conversation.settings.environ))
        _check(file, before)
    except OSError as error:
        raise MarvinError(f"{file}: {error.strerror}; mend that, then try again") from error
    loop.person.load()
    for problem in loop.person.problems:
        loop.view.say(problem, "warning")
    if loop.person.preferences.theme in loop.view.themes:
        loop.view.wear(loop.person.preferences.theme)
    if code:
        loop.view.say(f"the editor ended with exit code {code}", "warning")
    loop.view.say("The preferences hold from now on; keys and view from the next start on", "note")


def _begun(file: Path) -> bytes:
    """What the file holds, which is there from now on."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        files.write(file, content := preferences.TEMPLATE.encode())
        return content


def _check(file: Path, before: bytes) -> None:
    """Raises ``MarvinError`` for a file that cannot be understood, with what was there ``before`` in its place."""
    try:
        preferences.parse(file.read_bytes().decode("utf-8-sig"))
    except (Broken, UnicodeDecodeError) as error:
        said = f"{error}; what you wrote is kept in {files.aside(file)}"
        try:
            files.write(file, before)
        except OSError as problem:
            raise MarvinError(f"{said}; the earlier preferences cannot be written ({problem.strerror})") from error
        raise MarvinError(f"{said}, and the earlier preferences hold") from error


async def _profiles(loop: "Loop", name: str) -> None:
    paths = loop.conversation.settings.paths
    if not name:
        here = loop.person.profile.name
        rows = [
            (f"{'*' if each == here else ' '} {each}", "in use" if each == here else "")
            for each in profile.names(paths)
        ]
        loop.view.say(f"{aligned(rows)}\n`/profiles NAME` switches, and begins a new one", "output")
        return
    loop.conversation.check_idle()
    is_new = name not in profile.names(paths)
    before = loop.person.profile.name
    loop.person.use(name)
    try:
        await loop.enter_session(profile=name)
    except MarvinError:
        loop.person.use(before)
        raise
    for problem in loop.person.problems:
        loop.view.say(problem, "warning")
    loop.view.say(f"Profile {name}{', a new one' if is_new else ''}", "note")


async def _names(loop: "Loop") -> Sequence[Choice]:
    return [Choice(each, each) for each in profile.names(loop.conversation.settings.paths)]


async def _saved(loop: "Loop", _: str) -> None:
    places = loop.person.profile.places.read()
    rows = [(each.label, f"{each.name}, {each.address} ({each.lat:.5f}, {each.lng:.5f})") for each in places]
    loop.view.say(aligned(rows) or "No places are saved.", "output")


ACTIONS = (
    Action("preferences", "Edit your preferences", _preferences),
    Action("profiles", "List the profiles, or go on with another one", _profiles, "[NAME]", _names),
    Action("saved", "Show your saved places", _saved),
)
