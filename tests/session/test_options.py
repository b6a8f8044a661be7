"""What may be changed of an open session, and what is a command."""

import dataclasses
from pathlib import Path

import pytest

from marvin_server import settings as settings_module
from marvin_server.errors import UsageError
from marvin_server.providers.offline import Offline
from marvin_server.session import commands, options
from marvin_server.session.commands import COMMANDS, Typed
from marvin_server.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_module.load({}, {"MARVIN_HOME": str(tmp_path), "HOME": str(tmp_path)})


def test_a_provider_brings_its_own_model_and_a_model_stays_with_its_provider(settings: Settings) -> None:
    named = dataclasses.replace(settings, provider="openai", model="gpt", default_model="gpt")
    assert options.changed(named, None, "provider", "ollama") == dataclasses.replace(
        named, provider="ollama", model=None, default_model=None
    )
    assert options.changed(settings, Offline(), "model", " x ") == dataclasses.replace(
        settings, model="x", provider="offline"
    )


def test_every_value_that_is_offered_is_taken_and_holds_then(settings: Settings) -> None:
    for option in options.options(settings, None):
        for each in option.values:
            changed = options.changed(settings, None, option.name, each.value)
            held = next(one for one in options.options(changed, None) if one.name == option.name)
            assert held.value == each.value


def test_options_that_are_none_are_refused(settings: Settings) -> None:
    for name in ("approve", "sandbox", "permissions", "environ", ""):
        with pytest.raises(UsageError, match="there is no option"):
            options.changed(settings, None, name, "x")


@pytest.mark.parametrize("text", ["/etc/hosts", "/nothing", "mode", "/mode/plan", "see /mode", "/Mode", "/", ""])
def test_a_prompt_is_no_command(text: str) -> None:
    assert commands.read(text) is None


def test_a_command_is_read_with_what_follows_it() -> None:
    mode = next(each for each in COMMANDS if each.name == "mode")
    assert commands.read("/mode") == Typed(mode, "")
    assert commands.read("  /mode \n plan \n") == Typed(mode, "plan")
