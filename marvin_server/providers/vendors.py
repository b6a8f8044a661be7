"""Which vendor, model and address a person has chosen, and the provider made of them."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from marvin_server.errors import Auth, UsageError
from marvin_server.providers.base import Provider
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.keys import expanded, key
from marvin_server.providers.transport import Transport, is_loopback
from marvin_server.providers.vendor_files import SUFFIXES, WIRE_APIS, Vendor, check_address, read
from marvin_server.settings import Settings

_CATALOG = Path(__file__).with_name("catalog")
_REQUEST_SECONDS = 180.0
Value = TypeVar("Value")


def names(settings: Settings) -> tuple[str, ...]:
    """The names of all vendors, sorted; their files may still be broken."""
    return tuple(sorted(_files(settings)))


def load(name: str, settings: Settings, others: Sequence[str] = ()) -> Vendor:
    """The vendor of this name; a person's own file comes before a built-in one. ``others`` are providers without one.

    Raises ``UsageError`` for an unknown name and for a broken file, with its line where that is known.
    """
    files = _files(settings)
    if name in files:
        return read(files[name])
    from difflib import get_close_matches

    known = (*sorted(files), *others)
    near = get_close_matches(name, known, n=2)
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(f"unknown provider {name!r}{guess} (known: {', '.join(known)})")


def key_files(settings: Settings) -> tuple[Path, ...]:
    """The files that vendors read their keys from, there or not. Broken vendor files are passed over."""
    named: list[Path] = []
    for file in _files(settings).values():
        with suppress(UsageError):
            if place := read(file).key_file:
                named.append(expanded(place, settings))
    return tuple(named)


def usable(settings: Settings) -> Vendor | None:
    """The first vendor that the person has configured: it has a key, or its URL variable names this machine.

    Vendors of ``settings.provider_order`` come first, then a person's own in the order of their names. Broken files
    are passed over.
    """
    files = _files(settings)
    own = sorted(name for name, file in files.items() if file.parent != _CATALOG)
    for name in dict.fromkeys((*settings.provider_order, *own)):
        if name in files:
            try:
                vendor = read(files[name])
            except UsageError:
                continue
            local = settings.environ.get(vendor.url_variable or "", "")
            if key(vendor, settings).value or is_loopback(local):
                return vendor
    return None


def model(vendor: Vendor, settings: Settings) -> str:
    """The model: flag or ``MARVIN_MODEL``, else the vendor's variable, else the settings file, else its default."""
    of_variable = settings.environ.get(vendor.model_variable or "", "").strip()
    chosen = settings.model or of_variable or settings.default_model or vendor.default_model
    if not chosen:
        also = f" or {vendor.model_variable}" if vendor.model_variable else ""
        raise UsageError(f"{vendor.name} has no default model: name one with --model{also}")
    return chosen


def url(vendor: Vendor, settings: Settings) -> str:
    """The address, from the vendor's variable or its file. Raises ``UsageError`` when it is no HTTP address."""
    value = settings.environ.get(vendor.url_variable or "", "").strip()
    try:
        return check_address(value) if value else vendor.base_url
    except ValueError as error:
        raise UsageError(f"{vendor.url_variable} {error}, not {value!r}") from None


def create(vendor: Vendor, settings: Settings) -> Provider:
    """The provider that speaks to this vendor. Raises ``Auth`` without a key, unless the address is this machine's."""
    address, found = url(vendor, settings), key(vendor, settings)
    places = " or ".join(filter(None, (vendor.key_variable, vendor.key_file)))
    if found.value is None and places and not is_loopback(address):
        raise Auth(f"{vendor.title} needs a key: {found.origin}; put it in {places}, or run: marvin doctor")
    endpoint = Endpoint(
        title=vendor.title,
        url=address,
        key=found.value,
        check_key=places or str(vendor.file),
        check_url=vendor.url_variable or str(vendor.file),
        key_header=vendor.key_header,
    )
    chosen = model(vendor, settings)
    wire_api = of_model(vendor.wire_apis, chosen) or vendor.wire_api
    module = importlib.import_module(f"marvin_server.providers.{wire_api}")
    provider: Callable[..., Provider] = getattr(module, WIRE_APIS[wire_api])
    facts = {"max_output": of_model(vendor.max_output, chosen), "thinking": of_model(vendor.thinking, chosen)}
    wanted = {name: fact for name, fact in facts.items() if fact is not None and wire_api == "anthropic"}
    options = {"name": vendor.name, "model": chosen, "quirks": vendor.quirks, **wanted}
    wrap = None
    if settings.record is not None:
        from marvin_server.providers.recorder import recorder
        from marvin_server.providers.recording import Tape

        wrap = recorder(Tape(settings.record), settings, endpoint, wire_api, options)
    transport = Transport(
        request_timeout=settings.request_timeout or _REQUEST_SECONDS, stall_timeout=settings.stall_timeout, wrap=wrap
    )
    return provider(endpoint=endpoint, transport=transport, **options)


def of_model(by_prefix: Mapping[str, Value], model: str) -> Value | None:
    """The value whose key is the longest beginning of the model's name; None where none is."""
    return by_prefix.get(max((prefix for prefix in by_prefix if model.startswith(prefix)), key=len, default=""))


def _files(settings: Settings) -> dict[str, Path]:
    """Every vendor's file by the vendor's name."""
    found: dict[str, Path] = {}
    for folder in (_CATALOG, settings.paths.vendors):
        if folder.is_dir():
            for file in sorted(folder.iterdir(), reverse=True):
                if file.suffix in SUFFIXES:
                    found[file.stem] = file
    return found
