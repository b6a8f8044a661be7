"""The index of tools: what a model is told of each one, kept as JSON so that no tool is imported to know it.

In a checkout ``python -m marvin_server.tools.index`` writes the built-in tools' index and docs/tools.md; with
``--check`` it exits 1 with a line for each that is stale.
"""

import importlib
import json
import os
import sys
import zlib
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_args

from msgspec import Struct, to_builtins

import marvin_server
from marvin_server.errors import ToolError
from marvin_server.messages import Effect
from marvin_server.tools.base import Tool, ToolEntry

USER_TOOLSET = "user"
_HERE = Path(__file__).parent
_BUILT_IN = _HERE / "index.json"
_DOCS = _HERE.parent.parent / "docs" / "tools.md"


class Index(Struct, frozen=True):
    """Toolsets (name to one line) and their tools, with the fingerprint of the files that they were read from."""

    fingerprint: str
    toolsets: Mapping[str, str]
    tools: tuple[ToolEntry, ...]


def built_in(cache: Path) -> Index:
    """The index of Marvin's own tools; in a checkout whose tools changed, one made anew and kept in ``cache``."""
    mark = _fingerprint(_built_in_files())
    return _read(_BUILT_IN, mark) or _read(cache / "tools.json", mark) or _keep(cache / "tools.json", build())


def user(folder: Path, cache: Path) -> tuple[Index, tuple[str, ...]]:
    """The index of a person's own tools in ``folder``, and a warning for each file that holds none or cannot load.

    It is kept in ``cache`` once every file loads, so that a mended file or a newly installed package counts at once.
    """
    files = [file for file in _python_files(folder) if not file.name.startswith("_")]
    if not files:
        return Index("", {}, ()), ()
    mark = _fingerprint(files, marvin_server.__version__)
    kept = cache / "user-tools.json"
    if index := _read(kept, mark):
        return index, ()
    entries: list[ToolEntry] = []
    warnings: list[str] = []
    for file in files:
        try:
            found = [_entry(tool, USER_TOOLSET, str(file)) for tool in _tools_of(_import(str(file)))]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            reason = str(error).partition("\n")[0]
            warnings.append(f"{file}: {type(error).__name__}: {reason}; its tools are left out")
            continue
        if not found:
            warnings.append(f"{file}: there is no async function decorated with @tool in it")
        entries += found
    index = Index(mark, {USER_TOOLSET: "Tools of the person's own."}, tuple(sorted(entries, key=_order)))
    return (index if warnings else _keep(kept, index)), tuple(warnings)


def load(entry: ToolEntry) -> Tool:
    """Import the tool's module and return the tool. Whatever the module raises passes through."""
    found = getattr(_import(entry.module), entry.name, None)
    if isinstance(found, Tool):
        return found
    raise ToolError(f"{entry.module} no longer defines {entry.name}.")


def build() -> Index:
    """The index of Marvin's own tools, by importing each one."""
    files = _built_in_files()
    entries = [
        _entry(tool, file.parent.name, module)
        for file in files
        if not file.name.startswith("_")
        for module in [f"{__package__}.{file.parent.name}.{file.stem}"]
        for tool in _tools_of(_import(module))
    ]
    packages = sorted({file.parent.name for file in files})
    lines = {name: (_import(f"{__package__}.{name}").__doc__ or "").partition("\n")[0] for name in packages}
    return Index(_fingerprint(files), lines, tuple(sorted(entries, key=_order)))


def main(arguments: list[str]) -> int:
    """Write, or with ``--check`` compare, the files that are made from the tools; return the exit code."""
    from marvin_server.tools.reference import reference

    if not _DOCS.parent.is_dir():
        sys.stderr.write(f"{_DOCS.parent} does not exist: run this in a checkout\n")
        return 1
    index = build()
    exit_code = 0
    for path, text in ((_BUILT_IN, _as_json(index)), (_DOCS, reference(index.toolsets, index.tools))):
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{path} is stale: run python -m {__package__}.index\n")
            exit_code = 1
    return exit_code


def _order(entry: ToolEntry) -> tuple[str, str]:
    return entry.toolset, entry.name


def _built_in_files() -> list[Path]:
    return [file for folder in sorted(_HERE.iterdir()) if folder.is_dir() for file in _python_files(folder)]


def _python_files(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.suffix == ".py" and not file.name.startswith("."))
    except OSError:
        return []


def _fingerprint(files: Iterable[Path], salt: str = "") -> str:
    """Changes with ``salt``, and with the path and the bytes of any of ``files``."""
    mark = zlib.crc32(salt.encode())
    for file in files:
        name = file.relative_to(_HERE) if file.is_relative_to(_HERE) else file
        mark = zlib.crc32(name.as_posix().encode("utf-8", "surrogateescape"), mark)
        try:
            mark = zlib.crc32(file.read_bytes(), mark)
        except OSError as error:
            mark = zlib.crc32(type(error).__name__.encode(), mark)
    return f"{mark:08x}"


def _read(path: Path, fingerprint: str) -> Index | None:
    """The index in ``path`` when it is whole and has this fingerprint."""
    try:
        stored = json.loads(path.read_bytes())
        if stored["fingerprint"] != fingerprint:
            return None
        return Index(fingerprint, stored["toolsets"], tuple(ToolEntry(**fields) for fields in stored["tools"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(path: Path, index: Index) -> Index:
    """Write ``index`` to ``path`` for the next start; a cache that cannot be written is no reason to stop."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(_as_json(index), encoding="utf-8")
        new.replace(path)
    except OSError:
        with suppress(OSError):
            new.unlink()
    return index


def _as_json(index: Index) -> str:
    return json.dumps(to_builtins(index), indent=1, ensure_ascii=False) + "\n"


def _import(module: str) -> ModuleType:
    """A module by its dotted name, or by the path of its ``.py`` file."""
    if not module.endswith(".py"):
        return importlib.import_module(module)
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(module)
    name = f"marvin_user_tools.{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    loaded = module_from_spec(spec)
    # The tool's annotations are looked up through sys.modules while its module runs.
    sys.modules[name] = loaded
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise
    return loaded


def _tools_of(module: ModuleType) -> list[Tool]:
    tools = [value for value in vars(module).values() if isinstance(value, Tool)]
    return [tool for tool in tools if tool.run.__module__ == module.__name__]


def _entry(tool: Tool, toolset: str, module: str) -> ToolEntry:
    if tool.effect not in get_args(Effect):
        raise ValueError(f"the effect {tool.effect!r} of {tool.name} is none of {', '.join(get_args(Effect))}")
    schema = _schema(tool.params.model_json_schema())
    schema.pop("description", None)
    return ToolEntry(tool.name, toolset, tool.effect, tool.description.replace("\n", " "), schema, module)


def _schema(node: Any, *, names: bool = False) -> Any:
    """A JSON Schema without pydantic's titles and null alternatives. ``names``: the keys of ``node`` are fields."""
    if isinstance(node, list):
        return [_schema(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    if names:
        return {name: _schema(field) for name, field in schema.items()}
    kept = {key: value for key, value in schema.items() if key != "title"}
    options = [option for option in kept.get("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        kept = {**options[0], **{key: value for key, value in kept.items() if key != "anyOf"}}
    if "default" in kept and kept["default"] is None:
        del kept["default"]
    values = {"default", "const", "enum", "examples"}
    return {
        key: value if key in values else _schema(value, names=key in {"properties", "$defs"})
        for key, value in kept.items()
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
