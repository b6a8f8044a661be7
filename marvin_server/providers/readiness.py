"""Whether each provider could answer now, and what a person would do to make it."""

import asyncio
from importlib.util import find_spec

from msgspec.structs import asdict, replace

from marvin_server.errors import UsageError
from marvin_server.providers import keys, local_servers, selection, vendors
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.local_servers import Standing
from marvin_server.providers.selection import Terms
from marvin_server.providers.transport import is_loopback
from marvin_server.providers.vendor_files import Vendor
from marvin_server.settings import Settings


class Readiness(Terms, frozen=True):
    """``text`` says how it stands with a provider, ``advice`` what to do when it is not ready; with its terms."""

    ready: bool
    text: str
    advice: str | None = None
    model: str | None = None


def readiness(name: str, settings: Settings) -> Readiness:
    """How it stands with the provider of this name. Raises ``UsageError`` for an unknown one."""
    match name:
        case selection.OFFLINE:
            return Readiness(True, "always there; it searches, it is no model", model="offline", free=True)
        case selection.LOCAL:
            return _local(settings)
        case selection.COPILOT:
            return _copilot(settings)
        case selection.OLLAMA:
            return _ollama(settings)
        case _:
            return _vendor(name, settings)


async def heard(name: str, settings: Settings) -> Readiness:
    """As ``readiness``; a vendor's server on this machine is asked as well, for 0.2 s at most."""
    if name == selection.OLLAMA:
        return await asyncio.to_thread(readiness, name, settings)  # it asks, too
    found = readiness(name, settings)
    vendor = found.vendor
    if vendor is None or not is_loopback(url := vendors.url(vendor, settings)):
        return found
    endpoint = Endpoint(vendor.title, url, keys.key(vendor, settings).value, "", "", vendor.key_header)
    server = await local_servers.standing(endpoint, vendor.wire_api)
    if not server.serves:
        text = server.text if server.is_running else f"not running: {server.text}"
        return replace(found, ready=False, text=text, advice=_advice(vendor, server))
    return replace(found, text=f"{server.text}; {found.text}")


def _advice(vendor: Vendor, server: Standing) -> str | None:
    """What makes a server of this machine answer."""
    ways = [f"start it with: {vendor.start}"] if vendor.start and not server.is_running else []
    ways += [f"set {vendor.url_variable} to where it answers"] if vendor.url_variable else []
    return ", or ".join(ways) or None


def _local(settings: Settings) -> Readiness:
    model = settings.model or settings.environ.get("MARVIN_LOCAL_MODEL")
    if find_spec("xllamacpp") is None:
        advice = "pip install 'marvin-assistant[local]', then name a GGUF file with --model or MARVIN_LOCAL_MODEL"
        return Readiness(False, "its engine is not installed", advice, model, free=True)
    if not model:
        return Readiness(False, "no model file is named", "name a GGUF file with --model or MARVIN_LOCAL_MODEL")
    return Readiness(True, "the engine is installed", model=model, free=True)


def _copilot(settings: Settings) -> Readiness:
    from marvin_server.providers import copilot

    model = settings.model or copilot.DEFAULT_MODEL
    if selection.copilot_is_ready(settings):
        return Readiness(True, "logged in", model=model)
    if find_spec("copilot") is None:
        text, first = "its SDK is not installed", "pip install 'marvin-assistant[copilot]', "
    else:
        text, first = "not logged in", ""
    return Readiness(False, text, f"{first}npm install -g @github/copilot, then: copilot login", model)


def _ollama(settings: Settings) -> Readiness:
    address = selection.ollama_address(settings)
    ready = selection.ollama_is_ready(settings)
    vendor = vendors.load(selection.OLLAMA, settings)
    text = f"answers at {address}" if ready else f"nothing answers at {address}"
    advice = None if ready else "install it from https://ollama.com and start it with: ollama serve"
    return Readiness(ready, text, advice, vendors.model(vendor, settings), free=True, vendor=vendor)


def _vendor(name: str, settings: Settings) -> Readiness:
    vendor = vendors.load(name, settings, selection.OTHERS)
    try:
        model = vendors.model(vendor, settings)
    except UsageError as error:
        return Readiness(False, str(error), vendor=vendor)
    found = keys.key(vendor, settings)
    variable, file = vendor.key_variable, vendor.key_file
    ways = [f"export {variable}=..."] if variable else []
    ways += [f"put the key into {file} (chmod 600)"] if file else []
    ways += [f"run: marvin login {name}"] if ways else []
    url = vendors.url(vendor, settings)
    needs_key = found.value is None and bool(ways) and not is_loopback(url)
    text = f"{variable} is not set" if needs_key and variable and "cannot be read" in found.origin else found.origin
    return Readiness(
        not needs_key,
        f"key from {found.origin}" if found.value else text if needs_key else "no key is needed",
        ", or ".join(ways) if needs_key else None,
        model,
        **asdict(selection.vendor_terms(vendor, url)),
    )
