"""Commands about the person's own files: preferences, profiles and places."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action, aligned
from marvin_cli.view.base import Choice
from marvin_server.errors import MarvinError
from marvin_server.profiles import files, preferences, profile
from marvin_server.profiles.preferences import Broken

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop


async def _preferences(loop: "Loop", _: str) -> None:
    """Let the person edit the file; one that cannot be understood is kept aside, and the earlier one holds."""
    file = loop.person.profile.preferences_file
    try:
        before = file.read_bytes()
    except FileNotFoundError:
        before = preferences.TEMPLATE.encode()
        files.write(file, before)
    environ = loop.conversation.settings.environ
    editor = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")

    def edit() -> int:
        try:
            return subprocess.run([*editor, os.fspath(file)], env=dict(environ), check=False).returncode
        except OSError as error:
            raise MarvinError(f"{editor[0]}: {error.strerror}; set EDITOR to the editor that you use") from error

    if code := await loop.view.aside(edit):
        raise MarvinError(f"{editor[0]} ended with exit code {code}; the preferences in {file} hold as they are there")
    try:
        preferences.parse(file.read_bytes().decode("utf-8-sig"))
    except (Broken, UnicodeDecodeError) as error:
        kept = files.aside(file)
        files.write(file, before)
        raise MarvinError(f"{error}; what you wrote is kept in {kept}, and the earlier preferences hold") from error
    loop.person.load()
    for problem in loop.person.problems:
        loop.view.say(problem, "warning")
    if loop.person.preferences.theme in loop.view.themes:
        loop.view.wear(loop.person.preferences.theme)
    loop.view.say("The preferences hold from now on; keys and view from the next start on", "note")


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
