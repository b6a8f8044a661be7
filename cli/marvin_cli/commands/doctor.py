"""Show what is configured, what is usable, and what to do next."""

import argparse
import asyncio
import dataclasses
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from marvin_cli.commands import show, show_json
from marvin_server import __version__
from marvin_server.errors import MarvinError
from marvin_server.providers import selection
from marvin_server.providers.readiness import Readiness, heard
from marvin_server.session.store import Store
from marvin_server.settings import Settings
from marvin_server.workspace import beneath
from marvin_server.workspace.sandbox import best_sandbox

Level = Literal["ok", "note", "problem"]
_MARKS: dict[Level, str] = {"ok": "ok", "note": "--", "problem": "!!"}


class Finding(Struct, frozen=True):
    """One thing that was looked at; ``advice`` says what to do about it."""

    area: str
    level: Level
    text: str
    advice: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    findings = [*_installation(), *_places(settings), *_providers(settings), *_machine(settings), *_sandbox(settings)]
    if arguments.json:
        show_json([asdict(finding) for finding in findings])
    else:
        area = ""
        for finding in findings:
            if finding.area != area:
                show(f"\n{finding.area}" if area else finding.area)
                area = finding.area
            show(f"  {_MARKS[finding.level]}  {finding.text}")
            if finding.advice:
                show(f"        {finding.advice}")
    return 1 if any(finding.level == "problem" for finding in findings) else 0


def _installation() -> list[Finding]:
    findings = [Finding("Marvin", "ok", f"marvin-assistant {__version__}, Python {platform.python_version()}")]
    if other := _other_marvin():
        findings.append(
            Finding("Marvin", "problem", other, "uninstall it, or keep marvin-assistant in an environment of its own")
        )
    return findings


def _other_marvin() -> str | None:
    """The unrelated distribution ``marvin`` has a command of the same name."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"the unrelated package marvin {version('marvin')} is installed beside this one"
    except PackageNotFoundError:
        pass
    found = shutil.which("marvin")
    own = Path(sys.argv[0])
    if found and own.name == "marvin" and own.exists() and not Path(found).samefile(own):
        return f"another command comes first on PATH: {found}"
    return None


def _places(settings: Settings) -> list[Finding]:
    paths = settings.paths
    config = paths.config_file
    exists = "" if config.exists() else " (not there: the defaults hold)"
    findings = [
        Finding("Places", "ok", f"settings  {config}{exists}"),
        Finding("Places", "ok", f"sessions  {paths.database(settings.profile)}"),
        Finding("Places", "ok", f"logs      {paths.logs}"),
        Finding("Places", "ok", f"vendors   {paths.vendors}"),
        Finding("Places", "ok", f"tools     {paths.tools}"),
    ]
    findings += [Finding("Places", "problem", warning) for warning in settings.warnings]
    database = paths.database(settings.profile)
    if database.exists():
        try:
            Store.open(database).close()
        except MarvinError as error:
            findings.append(Finding("Places", "problem", str(error), "no session can be kept until this is mended"))
    for folder in (paths.logs, database.parent):
        there = next(place for place in (folder, *folder.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            findings.append(Finding("Places", "problem", f"{folder} cannot be written: see {there}"))
    return findings


def _providers(settings: Settings) -> list[Finding]:
    names, chain = selection.names(settings), selection.fallback_names(settings)
    states, in_chain = asyncio.run(_heard(names, chain, settings))
    findings = [_standing("Providers", name, state) for name, state in zip(names, states, strict=True)]
    try:
        provider = selection.choose(settings).provider
    except MarvinError as error:
        findings.append(Finding("Providers", "problem", str(error)))
    else:
        chosen = f"in use: {provider.name}" + ("" if provider.name == "offline" else f" with {provider.model}")
        advice = "set one of the keys above for a model" if provider.name == "offline" else None
        state = dict(zip(names, states, strict=True)).get(provider.name)
        level: Level = "note" if isinstance(state, Readiness) and not state.ready else "ok"
        findings.append(Finding("Providers", level, chosen, advice))
    for number, (name, state) in enumerate(zip(chain, in_chain, strict=True), 1):
        findings.append(_standing("When it fails", f"{number}. {name}", state))
    if not chain:
        none = "no other provider goes on"
        findings.append(Finding("When it fails", "ok", none, "the setting fallback names those that shall"))
    return findings


async def _heard(
    names: Sequence[str], chain: Sequence[str], settings: Settings
) -> tuple[list[Readiness | MarvinError], list[Readiness | MarvinError]]:
    """How it stands with the providers, and with those in the fallback chain, which use models of their own."""
    own = dataclasses.replace(settings, model=None, default_model=None)

    async def ask(name: str, settings: Settings) -> Readiness | MarvinError:
        try:
            return await heard(name, settings)
        except MarvinError as error:
            return error

    found = await asyncio.gather(*(ask(name, settings) for name in names), *(ask(name, own) for name in chain))
    return found[: len(names)], found[len(names) :]


def _standing(area: str, title: str, state: Readiness | MarvinError) -> Finding:
    if isinstance(state, MarvinError):
        return Finding(area, "problem", f"{title}: {state}")
    return Finding(area, "ok" if state.ready else "note", f"{title}: {state.text}", state.advice)


def _machine(settings: Settings) -> list[Finding]:
    path = settings.environ.get("PATH")
    findings: list[Finding] = []
    for name, without in (
        ("git", "the git tools do not work"),
        ("rg", "searching is slower; the answers are the same"),
    ):
        if found := shutil.which(name, path=path):
            findings.append(Finding("Machine", "ok", f"{name}: {found}"))
        else:
            package = {"rg": "ripgrep"}.get(name, name)
            findings.append(Finding("Machine", "note", f"{name}: not found; {without}", f"install {package}"))
    here = os.open(Path.cwd(), beneath.NAME_ONLY)
    how = "by the kernel (openat2)" if beneath.best_opener(here) is beneath.by_kernel else "step by step (no openat2)"
    os.close(here)
    findings.append(Finding("Machine", "ok", f"files are kept beneath the workspace {how}"))
    return findings


def _sandbox(settings: Settings) -> list[Finding]:
    if settings.sandbox == "off":
        advice = "the setting sandbox: auto confines them"
        return [Finding("Sandbox", "note", "off by your settings: commands run with your own rights", advice)]
    search = best_sandbox(settings.environ)
    if search.sandbox is None:
        without = "nothing is run" if settings.sandbox == "on" else "commands run with your own rights"
        level: Level = "problem" if settings.sandbox == "on" else "note"
        findings = [Finding("Sandbox", level, f"none works here: {without}", "install bubblewrap")]
    else:
        findings = [Finding("Sandbox", "ok", f"commands are confined by {search.sandbox.name}")]
        findings += [Finding("Sandbox", "note", f"it does not {limit}") for limit in search.sandbox.limits]
    findings += [Finding("Sandbox", "note", problem) for problem in search.problems]
    gone = [folder for folder in settings.sandbox_roots if not folder.is_dir()]
    findings += [Finding("Sandbox", "note", f"sandbox_roots: {folder} is no folder; it is left out") for folder in gone]
    return findings
