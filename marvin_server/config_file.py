"""The person's ``config.yaml``: what is right in it, and a warning with its line for everything else."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from marvin_server import setting_checks as checks
from marvin_server.errors import UsageError
from marvin_server.model_settings import CHECKS as MODEL_CHECKS
from marvin_server.model_settings import ModelSettings
from marvin_server.setting_checks import shown

Verdict = Literal["allow", "ask", "deny"]
_VERDICTS: Mapping[str, Verdict] = {"allow": "allow", "ask": "ask", "deny": "deny"}


class PermissionEntry(Struct, frozen=True):
    """One entry of ``permissions`` as it was written, and ``where``: the file and the line."""

    verdict: Verdict
    text: str
    where: str


CHECKS: Mapping[str, Callable[[object], Any]] = {
    "provider": checks.text,
    "model": checks.text,
    "provider_order": checks.names,
    "fallback": checks.names,
    "profile": checks.name,
    "tools": checks.names,
    "approve": checks.one_of("all", "rules", "none"),
    "sandbox": checks.one_of("auto", "on", "off"),
    "sandbox_roots": checks.folders,
    "sandbox_network": checks.flag,
    "readonly": checks.flag,
    "mode": checks.one_of("plan", "review", "auto", "full"),
    "max_rounds": checks.count,
    "max_cost": checks.amount,
    "budget": checks.budget,
    "request_timeout": checks.amount,
    "stall_timeout": checks.amount,
    "thinking": checks.one_of("none", "low", "medium", "high"),
    "ntfy_server": checks.url,
    "checks": checks.file_checks,
    "web_allow": checks.hosts,
    "small_model": checks.text,
    "titles": checks.flag,
    "history_backups": checks.flag,
    "repo_map": checks.map_tokens,
}
# A restriction that cannot be read must not become a freedom: what such a setting is then.
_STRICTEST: Mapping[str, Any] = {
    "approve": "none",
    "sandbox": "on",
    "sandbox_network": False,
    "readonly": True,
    "mode": "plan",
}
_NEEDED = frozenset({"provider", "profile", "max_cost", "budget"})


def read(path: Path, warnings: list[str], *, required: bool) -> dict[str, Any]:
    """The valid settings of one YAML file; everything else becomes a warning with its line.

    Raises ``UsageError`` for a missing file that is ``required``, and for a wrong value that nothing can stand in for.
    """
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
            if name == "permissions":
                values[name] = _permissions(value_node, path, loader)
            elif name == "models" and isinstance(value, dict):
                values[name] = _models(value_node, loader, path, warnings)
            elif name == "models":
                warnings.append(f"{where}: models needs models' names with fields, not {shown(value)}; it is ignored")
            elif name in CHECKS:
                take(values, warnings, name, value, f"{where}: {name}")
            else:
                known = ", ".join((*CHECKS, "models", "permissions"))
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


def _permissions(node: Any, path: Path, loader: _Loader) -> tuple[PermissionEntry, ...]:
    """The entries of ``permissions``. Whatever is no list under allow, ask or deny becomes a deny entry that is no
    rule, so that its reader holds back."""
    lists = node.value if node.tag.endswith(":map") else [(node, node)]
    entries: list[PermissionEntry] = []
    for key, value in lists:
        named: Any = loader.construct_object(key, deep=True)
        verdict = _VERDICTS.get(named) if isinstance(named, str) else None
        for item in value.value if verdict and value.tag.endswith(":seq") else [value]:
            text: Any = loader.construct_object(item, deep=True)
            rule = text if verdict and isinstance(text, str) else f"({shown(named)}: {shown(text)})"
            where = f"{path}:{item.start_mark.line + 1}"
            entries.append(PermissionEntry(verdict or "deny", rule, where))
    return tuple(entries)


def take(values: dict[str, Any], warnings: list[str], name: str, value: object, where: str) -> None:
    """Put a setting from the file or the environment into ``values``, if it is right; else warn, or hold back.

    A wrong restriction becomes the strictest one; a wrong provider, profile or cost limit raises ``UsageError``.
    """
    try:
        values[name] = CHECKS[name](value)
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
