"""Store a vendor's key privately, after trying it; --remove forgets it."""

import argparse
import asyncio
import sys

from marvin_cli.commands import show, show_json
from marvin_server.errors import Auth, MarvinError, ProviderError, UsageError
from marvin_server.providers import keys, model_list, selection, vendors
from marvin_server.providers.vendor_files import Vendor
from marvin_server.settings import Settings

_LONGEST = 10_000
_NO_KEY = {
    selection.COPILOT: "GitHub Copilot has a login of its own; run: copilot login",
    selection.LOCAL: "local needs no key: it runs a model file of yours",
    selection.OFFLINE: "offline needs no key: it is no model",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("vendor", help="whose key; it is asked for, or read as one line from standard input")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--no-test", action="store_true", help="store the key without trying it")
    choice.add_argument("--remove", action="store_true", help="forget the key that is stored")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.vendor in selection.OTHERS:
        _say(arguments, _NO_KEY[arguments.vendor], stored=None)
        return 0
    vendor = vendors.load(arguments.vendor, settings, selection.OTHERS)
    if not (vendor.key_variable or vendor.key_file):
        _say(arguments, f"{vendor.title} needs no key: {vendor.file} names no key_variable", stored=None)
    elif arguments.remove:
        gone = keys.remove(vendor.name, settings)
        _say(arguments, f"{vendor.title}: {'the key is removed' if gone else 'no key was stored'}", stored=None)
        if (left := vendors.key(vendor, settings)).value:
            _note(f"there is still a key in {left.origin}")
    else:
        key = _typed(vendor)
        tried = "the key was not tried" if arguments.no_test else asyncio.run(_try(vendor, key, settings))
        stored = keys.store(vendor.name, key, settings)
        _say(arguments, f"{vendor.title}: {tried}; it is stored in {stored.place}", stored=stored.place)
        if stored.note:
            _note(stored.note)
        if (first := vendors.key(vendor, settings)).origin != stored.place:
            _note(f"the key in {first.origin} comes before it")
    return 0


def _typed(vendor: Vendor) -> str:
    """The key that the person gives. Raises ``UsageError`` for what cannot be one; the line does not show it."""
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        try:
            text = getpass(f"{vendor.title} key (not shown): ")
        except EOFError:
            text = ""
    else:
        text = sys.stdin.buffer.readline(_LONGEST).decode("utf-8", "replace") if sys.stdin is not None else ""
    if not (key := text.strip()):
        raise UsageError("no key was given")
    if not keys.is_key(key):
        raise UsageError("this is no key: a key has no blanks, and no characters beyond ASCII")
    return key


async def _try(vendor: Vendor, key: str, settings: Settings) -> str:
    """What came of showing the key to the vendor. Raises ``MarvinError`` when it is not known to be good."""
    url = model_list.address(vendor, settings)
    try:
        models = await model_list.fetch(vendor, url, key, check_key="that it was copied whole")
    except Auth as error:
        raise MarvinError(f"the key is not stored: {error}") from None
    except ProviderError as error:
        raise MarvinError(
            f"the key is not stored, since it could not be tried: {error} (--no-test stores it)"
        ) from None
    try:
        await model_list.fetch(vendor, url, None, check_key="")
    except ProviderError:
        return f"the key works, for {len(models)} models"
    return "the key could not be tried, since anyone may list the models there"


def _say(arguments: argparse.Namespace, text: str, *, stored: str | None) -> None:
    if arguments.json:
        show_json({"vendor": arguments.vendor, "stored": stored, "text": text})
    else:
        show(text)


def _note(text: str) -> None:
    from marvin_server.sanitise import one_line

    sys.stderr.write(f"marvin: note: {one_line(text)}\n")
