"""Show what a project's own files want to add, and accept or refuse it."""

import argparse
import sys
from pathlib import Path

from msgspec.structs import asdict

from marvin_cli.commands import show, show_json, table
from marvin_server.errors import MarvinError, UsageError
from marvin_server.session import project
from marvin_server.session.project import Project
from marvin_server.session.trust import Acceptances, instead, texts
from marvin_server.settings import Settings
from marvin_server.workspace.confine import Root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--working-dir", metavar="DIR", default=".", help="the project (default: the current folder)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="only show the texts and their hashes")
    what.add_argument("--accept", metavar="HASH", help="accept the files that have this hash, as shown")
    what.add_argument("--revoke", action="store_true", help="forget all that was accepted for this project")
    what.add_argument("--list", action="store_true", help="what was accepted, for all projects")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    acceptances = Acceptances(settings.paths.trust(settings.profile))
    if arguments.list:
        _list(acceptances, as_json=arguments.json)
        return 0
    try:
        root = Root(Path(arguments.working_dir))
    except OSError as error:
        raise UsageError(f"--working-dir {arguments.working_dir}: {error.strerror}") from None
    if arguments.revoke:
        name = project.name_of(root)
        count = acceptances.revoke(name)
        if arguments.json:
            show_json({"root": name, "revoked": count})
        else:
            show(f"Nothing of {name} counts any more ({count} forgotten).")
        return 0
    found = project.read(root, ".")
    if arguments.accept is not None:
        _accept(found, arguments.accept, acceptances, as_json=arguments.json)
        return 0
    _show(found, acceptances, as_json=arguments.json)
    if not arguments.show and not arguments.json:
        _ask(found, acceptances)
    return 0


def _list(acceptances: Acceptances, *, as_json: bool) -> None:
    accepted = acceptances.all()
    if as_json:
        show_json([asdict(one) for one in accepted])
    elif accepted:
        rows = [(one.accepted_at[:16], one.kind, one.digest[:12], one.root) for one in accepted]
        show(table([("ACCEPTED (UTC)", "WHAT", "HASH", "PROJECT"), *rows]))
    else:
        show("Nothing was accepted yet.")


def _show(found: Project, acceptances: Acceptances, *, as_json: bool) -> None:
    if as_json:
        kinds = [
            {
                "kind": kind,
                "digest": found.digest(kind),
                "accepted": acceptances.has(found, kind),
                "files": [asdict(file) for file in files],
            }
            for kind, files in found.files.items()
        ]
        show_json({"root": found.root, "kinds": kinds, "problems": found.problems})
        return
    for problem in found.problems:
        show(problem)
    if not found.files:
        show(f"{found.root} has no instructions, settings or skills for Marvin.")
    for kind in found.files:
        show(f"{texts(found, kind)}\n")
        if kind == "settings":
            said, problems = project.settings_of(found.files[kind][0])
            values = [f"{name}: {value}" for name, value in asdict(said).items() if value]
            show("\n".join([f"What counts of it: {'; '.join(values) or 'nothing'}", *problems]))
        state = "accepted" if acceptances.has(found, kind) else "not accepted"
        show(f"{kind}{instead(found, kind)}: {state}; hash {found.digest(kind)}")


def _accept(found: Project, digest: str, acceptances: Acceptances, *, as_json: bool) -> None:
    for kind in found.files:
        if digest == found.digest(kind):
            acceptances.add(found, kind)
            if as_json:
                show_json({"root": found.root, "kind": kind, "digest": digest, "accepted": True})
            else:
                show(f"The {kind} of {found.root} count from now on, until they change.")
            return
    raise MarvinError(f"nothing in {found.root} has the hash {digest}: `marvin trust --show` shows what is there now")


def _ask(found: Project, acceptances: Acceptances) -> None:
    for kind in found.files:
        if acceptances.has(found, kind):
            continue
        if not sys.stdin.isatty() or not sys.stdout.isatty():
            raise MarvinError("there is no terminal to ask on: `marvin trust --accept HASH` accepts what has that hash")
        sys.stdout.write(f"Let these {kind} count{instead(found, kind)}, until they change? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() in {"y", "yes"}:
            acceptances.add(found, kind)
            show(f"The {kind} count from now on.")
        else:
            show(f"The {kind} do not count.")
