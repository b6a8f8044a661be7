"""The sandbox of macOS (sandbox-exec(1)): a profile that names what is denied, checked on every access by its path."""

import os
import re
import shutil
import subprocess
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from msgspec import Struct

from marvin_server.workspace.sandbox import Confinement, Directory, Wrapped
from marvin_server.workspace.sandbox_folder import variables

_PROBE_TIMEOUT = 5.0
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")
_SERVICES = ("/private/var/run", "/private/tmp", "/private/var/tmp")
_NAME_SERVICE = "/private/var/run/mDNSResponder"
# The names of ``names.py``, existing or not, at every depth. Profiles know no flag for case: see ``_expression``.
_SECRETS = (r"/\.env(rc|\.[^/]*)?(/|$)",)
_SAMPLES = (r"/\.env\.(example|sample|template|dist)$",)
_FIXED = (
    r"/\.git/(config|config\.worktree|commondir|hooks|modules|worktrees)(/|$)",
    r"/(\.git|\.marvin|\.config/marvin)$",
    r"/(\.marvin|\.config/marvin|\.config/opencode)/",
    r"/\.(agents|amazonq|augment|claude|claude\.json|cline|clinerules|codex|continue|crush|cursor|cursorrules)(/|$)",
    r"/\.(gemini|goosehints|junie|kilocode|kiro|marvin-instructions|mcp\.json|opencode|qwen|roo|trae)(/|$)",
    r"/\.(windsurf|windsurfrules|aider[^/]*)(/|$)",
    r"/(\.vscode|\.devcontainer|\.idea|[^/]*\.code-workspace|\.dir-locals(-2)?\.el|\.exrc|\.nvim\.lua|\.nvimrc)(/|$)",
    r"/\.github/copilot-instructions\.md$",
)


class Seatbelt(Struct, frozen=True):
    """The sandbox that the program ``program`` enters."""

    program: str
    name: str = "seatbelt"
    limits: tuple[str, ...] = ("leave commands their loopback when it cuts off the network",)
    refusal: re.Pattern[str] = re.compile(r"Operation not permitted|EPERM")

    @contextmanager
    def wrap(self, argv: Sequence[str], directory: Directory, confinement: Confinement) -> Generator[Wrapped]:
        """See ``Sandbox.wrap``; the command is started in ``directory`` as it is."""
        yield Wrapped([self.program, "-p", profile(confinement), *argv], variables(confinement.tmp, confinement.cache))


def probe(path: str) -> Seatbelt | str:
    """seatbelt, if its program is there and works; else why not."""
    program = shutil.which("sandbox-exec", path=f"{path}{os.pathsep}/usr/bin")
    if program is None:
        return "sandbox-exec is not there"
    try:
        done = subprocess.run(
            [program, "-p", "(version 1)(allow default)", "/usr/bin/true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"sandbox-exec cannot be started: {error}"
    return "sandbox-exec does not work here" if done.returncode else Seatbelt(program)


def profile(confinement: Confinement) -> str:
    """The profile, in Apple's dialect of Scheme; of all rules that fit an access, the last one holds."""
    writable = (*confinement.roots, confinement.tmp, confinement.cache)
    inside = [place for place in confinement.hidden if _is_beneath(place, confinement.roots)]
    outside = [place for place in confinement.hidden if place not in inside]
    network = (
        [_rule("allow network-outbound", "literal", [_NAME_SERVICE])] if confinement.network else ["(deny network*)"]
    )
    return "\n".join(
        (
            "(version 1)",
            "(allow default)",
            "(deny process-info* (target others))",
            "(deny signal)",
            "(allow signal (target same-sandbox))",
            "(deny file-write*)",
            _rule("allow file-write*", "literal", _DEVICES),
            _rule("deny network-outbound", "subpath", _SERVICES),
            *network,
            _rule("deny file-read* file-write* network-outbound", "subpath", outside),
            _rule("allow file-read* file-write*", "subpath", writable),
            _rule("deny file-write*", "subpath", confinement.fixed),
            _rule("deny file-write*", "regex", _FIXED),
            _rule("deny file-read* file-write*", "regex", _SECRETS),
            _rule("allow file-read*", "regex", _SAMPLES),
            _rule("deny file-read* file-write* network-outbound", "subpath", inside),
        )
    )


def _rule(what: str, kind: str, places: Iterable[str]) -> str:
    """One rule about all ``places``; nothing where there are none, as a rule without any would fit everything."""
    form = _expression if kind == "regex" else _text
    filters = " ".join(f"({kind} {form(place)})" for place in places)
    return f"({what} {filters})" if filters else ""


def _text(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _expression(pattern: str) -> str:
    return '#"' + re.sub(r"[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", pattern) + '"'


def _is_beneath(place: str, roots: Iterable[str]) -> bool:
    return any(place == root or place.startswith(root.rstrip("/") + "/") for root in roots)
