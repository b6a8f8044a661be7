"""Flags, environment and ``config.yaml`` merged into one frozen object. The only reader of ``os.environ``."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from marvin_server import paths
from marvin_server import setting_checks as checks
from marvin_server.errors import UsageError
from marvin_server.model_settings import CHECKS as MODEL_CHECKS
from marvin_server.model_settings import ModelSettings
from marvin_server.paths import Paths
from marvin_server.setting_checks import shown

Approve = Literal["all", "rules", "none"]
Sandbox = Literal["auto", "on", "off"]
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
    toolsets that are on from the start. ``record`` is the file to which exchanges with vendors are added; only a flag
    sets it. ``models`` goes by the models' whole names. ``environ`` is the environment as it was at the start.
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
    readonly: bool = False
    max_rounds: int | None = None
    max_cost: float | None = None
    request_timeout: float | None = None
    stall_timeout: float = 60.0
    thinking: Effort | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict[str, ModelSettings])
    ntfy_server: str = "https://ntfy.sh"
    record: Path | None = None
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


_SETTINGS: Mapping[str, Callable[[object], Any]] = {
    "provider": checks.text,
    "model": checks.text,
    "provider_order": checks.names,
    "fallback": checks.names,
    "profile": checks.name,
    "tools": checks.names,
    "approve": checks.one_of("all", "rules", "none"),
    "sandbox": checks.one_of("auto", "on", "off"),
    "readonly": checks.flag,
    "max_rounds": checks.count,
    "max_cost": checks.amount,
    "request_timeout": checks.amount,
    "stall_timeout": checks.amount,
    "thinking": checks.one_of("none", "low", "medium", "high"),
    "ntfy_server": checks.url,
}
# A restriction that cannot be read must not become a freedom: what such a setting is then.
_STRICTEST: Mapping[str, Any] = {"approve": "none", "sandbox": "on", "readonly": True}
_NEEDED = frozenset({"provider", "profile", "max_cost"})
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
    config_file: Path | None = None,
) -> Settings:
    """Merge every source into one ``Settings``.

    ``flags`` maps setting names to values (None: not given); a wrong one raises ``UsageError``, since the person has
    just typed it. A wrong or unknown setting in the environment or the file is left out and named in ``warnings``, but
    for two kinds: where a wrong ``approve``, ``sandbox`` or ``readonly`` stands, or the file cannot be read, the
    strictest value holds; a wrong provider, profile or cost limit raises ``UsageError``.
    ``config_file`` replaces the usual ``config.yaml`` and must then exist.
    """
    environ = dict(os.environ if environ is None else environ)
    places = paths.find(environ)
    warnings: list[str] = []
    values = _from_file(config_file or places.config_file, warnings, required=config_file is not None)
    if "model" in values:
        values["default_model"] = values.pop("model")
    for variable, name in _VARIABLES.items():
        if variable in environ and environ[variable] != "":
            _take(values, warnings, name, environ[variable], f"environment: {variable}")
    for name, value in flags.items():
        if value is not None:
            try:
                values[name] = _SETTINGS[name](value)
            except ValueError as error:
                raise UsageError(f"--{name.replace('_', '-')} {error}, not {shown(value)}") from None
    return Settings(paths=places, environ=environ, warnings=tuple(warnings), **values)


def _from_file(path: Path, warnings: list[str], *, required: bool) -> dict[str, Any]:
    """The valid settings of one YAML file; everything else becomes a warning with its line."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        if required:
            raise UsageError(f"--config {path}: there is no such file") from None
        return {}
    except OSError as error:
        if required:
            raise UsageError(f"--config {path}: {error.strerror}") from None
        return _unreadable(warnings, f"{path}: cannot be read ({error.strerror})")
    import yaml

    try:
        return _from_yaml(text, path, warnings)
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        problem = error.problem if isinstance(error, yaml.MarkedYAMLError) else None
        line = f":{mark.line + 1}" if mark else ""
        return _unreadable(warnings, f"{path}{line}: {problem or 'not valid YAML'}")
    except (ValueError, RecursionError, OverflowError) as error:
        return _unreadable(warnings, f"{path}: {shown(str(error))}")


class _Loader(Protocol):
    """What is used of a PyYAML loader, C or Python."""

    def get_single_node(self) -> object: ...
    def construct_object(self, node: object, deep: bool) -> object: ...
    def dispose(self) -> None: ...


def _from_yaml(text: bytes, path: Path, warnings: list[str]) -> dict[str, Any]:
    import yaml

    # The C loader is missing where PyYAML was built without libyaml.
    loader = cast("_Loader", getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text))
    values: dict[str, Any] = {}
    try:
        node = loader.get_single_node()
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            return _unreadable(warnings, f"{path}:1: expected lines such as 'provider: groq'")
        for key_node, value_node in node.value:
            key, value = loader.construct_object(key_node, deep=True), loader.construct_object(value_node, deep=True)
            where = f"{path}:{key_node.start_mark.line + 1}"
            name = key.lower().replace("-", "_") if isinstance(key, str) else ""
            if name == "models" and isinstance(value, dict):
                values[name] = _models(value_node, loader, path, warnings)
            elif name == "models":
                warnings.append(f"{where}: models needs models' names with fields, not {shown(value)}; it is ignored")
            elif name in _SETTINGS:
                _take(values, warnings, name, value, f"{where}: {name}")
            else:
                known = ", ".join((*_SETTINGS, "models"))
                warnings.append(f"{where}: unknown setting {shown(key)} is ignored; known: {known}")
    finally:
        loader.dispose()
    return values


def _models(node: object, loader: _Loader, path: Path, warnings: list[str]) -> dict[str, ModelSettings]:
    """What is right in the setting ``models``; each part that is not becomes a warning with its line."""
    models: dict[str, ModelSettings] = {}
    for line, model, of_model in _entries(node, loader):
        values: dict[str, Any] = {}
        for field_line, name, value_node in _entries(of_model, loader):
            where, value = f"{path}:{field_line}: models: {model}", loader.construct_object(value_node, deep=True)
            try:
                values[name] = MODEL_CHECKS[name](value)
            except KeyError:
                warnings.append(f"{where}: unknown field {name} is ignored; known: {', '.join(MODEL_CHECKS)}")
            except ValueError as error:
                warnings.append(f"{where}: {name} {error}, not {shown(value)}; it is ignored")
        if values:
            models[model] = ModelSettings(**values)
        else:
            warnings.append(f"{path}:{line}: models: {model} needs fields such as 'context: 128000'; it is ignored")
    return models


def _entries(node: object, loader: _Loader) -> list[tuple[int, str, object]]:
    """Line, key and value of each entry of a mapping's node; none of any other node."""
    import yaml

    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value) if isinstance(node, yaml.MappingNode) else []
    keys = [(key_node.start_mark.line + 1, loader.construct_object(key_node, deep=True)) for key_node, _ in pairs]
    return [
        (line, key if isinstance(key, str) else shown(key), value)
        for (line, key), (_, value) in zip(keys, pairs, strict=True)
    ]


def _take(values: dict[str, Any], warnings: list[str], name: str, value: object, where: str) -> None:
    """Put a setting from the file or the environment into ``values``, if it is right."""
    try:
        values[name] = _SETTINGS[name](value)
    except ValueError as error:
        problem = f"{where} {error}, not {shown(value)}"
        if name in _NEEDED:
            raise UsageError(problem) from None
        if name in _STRICTEST:
            values[name] = _STRICTEST[name]
            warnings.append(f"{problem}; the strictest holds: {_STRICTEST[name]}")
        else:
            warnings.append(f"{problem}; it is ignored")


def _unreadable(warnings: list[str], problem: str) -> dict[str, Any]:
    warnings.append(f"{problem}; the file is ignored, and nothing is approved that may have been forbidden in it")
    return {"approve": "none"}
