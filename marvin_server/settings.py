"""Flags, environment and ``config.yaml`` merged into one frozen object. The only reader of ``os.environ``."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from marvin_server import config_file, paths
from marvin_server.config_file import PermissionEntry
from marvin_server.errors import UsageError
from marvin_server.model_settings import ModelSettings
from marvin_server.paths import Paths
from marvin_server.setting_checks import shown

Approve = Literal["all", "rules", "none"]
Sandbox = Literal["auto", "on", "off"]
Mode = Literal["plan", "review", "auto", "full"]
Effort = Literal["none", "low", "medium", "high"]

_SECRET_NAME = re.compile(
    r"(^|_)((SECRETS?|PASSPHRASE|CREDENTIALS?|AUTH|WEBHOOKS?)(_|$)|(API)?(KEYS?|TOKENS?|COOKIE|PAT)$)"
    r"|PASSWORD|PASSWD|PWD|DSN$",
    re.IGNORECASE,
)
_PLAIN_NAMES = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
_PASSWORD_IN_URL = re.compile(r"://[^/@\s]*:[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the person asked for, from the strongest source that says it: flag, environment, ``config.yaml``, default.

    ``model`` comes from a flag or ``MARVIN_MODEL`` and beats the vendor's own variable; ``default_model`` comes from
    the file and does not. Times are in seconds, money in USD. ``tools`` is ``("core",)``, ``("all",)`` or names of
    toolsets that are on from the start. ``record`` is the file to which exchanges with vendors are added, and ``trust``
    lets a project's own files count without a question; only flags set them. ``checks`` maps file name patterns to the
    commands that check such files; ``web_allow`` names hosts that the web tools may read wherever they are.
    ``models`` goes by the models' whole names. ``environ`` is the environment as it was at the start.
    """

    paths: Paths
    environ: Mapping[str, str] = field(repr=False)
    provider: str | None = None
    model: str | None = None
    default_model: str | None = None
    provider_order: tuple[str, ...] = ("anthropic", "openai", "gemini", "openai-compat", "groq")
    fallback: tuple[str, ...] | None = None
    profile: str = "default"
    tools: tuple[str, ...] = ("core",)
    approve: Approve | None = None
    sandbox: Sandbox = "auto"
    sandbox_roots: tuple[Path, ...] = ()
    sandbox_network: bool | None = None
    readonly: bool = False
    mode: Mode = "auto"
    permissions: tuple[PermissionEntry, ...] = ()
    max_rounds: int | None = None
    max_cost: float | None = None
    request_timeout: float | None = None
    stall_timeout: float = 60.0
    thinking: Effort | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict[str, ModelSettings])
    ntfy_server: str = "https://ntfy.sh"
    record: Path | None = None
    trust: bool = False
    checks: Mapping[str, str] = field(default_factory=dict[str, str])
    web_allow: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def secrets(self) -> tuple[str, ...]:
        """The values of the environment that must never be shown."""
        return tuple(value for name, value in self.environ.items() if len(value) >= 8 and _is_secret(name, value))

    def redactor(self) -> Callable[[str], str]:
        """A function that blots each secret out of a text; the environment is looked through once, not per text."""
        secrets = self.secrets()

        def redact(text: str) -> str:
            for secret in secrets:
                text = text.replace(secret, "***")
            return text

        return redact

    def child_environ(self) -> dict[str, str]:
        """The environment for a command: without secrets, and without git's variables that name another repository."""
        return {
            name: value
            for name, value in self.environ.items()
            if not _is_secret(name, value) and not name.startswith("GIT_")
        }


def _is_secret(name: str, value: str) -> bool:
    """Whether a variable's name, or a URL in it, says that it holds a secret."""
    named = name not in _PLAIN_NAMES and _SECRET_NAME.search(name)
    return bool(named or _PASSWORD_IN_URL.search(value))


_VARIABLES = {
    "LLM_PROVIDER": "provider",
    "MARVIN_MODEL": "model",
    "MARVIN_PROFILE": "profile",
    "MARVIN_READONLY": "readonly",
    "MARVIN_THINKING": "thinking",
}


def load(
    flags: Mapping[str, object],
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
    profile: Callable[[Paths], str | None] = lambda _: None,
) -> Settings:
    """Merge every source into one ``Settings``.

    ``flags`` maps setting names to values (None: not given); a wrong one raises ``UsageError``, since the person has
    just typed it. A wrong or unknown setting in the environment or the file is left out and named in ``warnings``, but
    for two kinds: where a wrong ``approve``, ``sandbox`` or ``readonly`` stands, or the file cannot be read, the
    strictest value holds; a wrong provider, profile or cost limit raises ``UsageError``.
    ``file`` replaces the usual ``config.yaml`` and must then exist; ``profile`` gives the one where nobody names one.
    """
    environ = dict(os.environ if environ is None else environ)
    places = paths.find(environ)
    warnings: list[str] = []
    values = config_file.read(file or places.config_file, warnings, required=file is not None)
    if "model" in values:
        values["default_model"] = values.pop("model")
    for variable, name in _VARIABLES.items():
        if variable in environ and environ[variable] != "":
            config_file.take(values, warnings, name, environ[variable], f"environment: {variable}")
    for name, value in flags.items():
        if value is not None:
            try:
                values[name] = config_file.CHECKS[name](value)
            except ValueError as error:
                raise UsageError(f"--{name.replace('_', '-')} {error}, not {shown(value)}") from None
    if "profile" not in values and (remembered := profile(places)) is not None:
        values["profile"] = remembered
    return Settings(paths=places, environ=environ, warnings=tuple(warnings), **values)
