import json
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings as settings_module
from marvin_server.errors import Auth, UsageError
from marvin_server.providers import vendors
from marvin_server.providers.keys import Key
from marvin_server.settings import Settings

OWN: dict[str, Any] = {"wire_api": "openai_chat", "base_url": "https://gateway.example/v1", "key_variable": "ACME_KEY"}


def settings(home: Path, flags: dict[str, object] | None = None, **environ: str) -> Settings:
    return settings_module.load(flags or {}, {"HOME": str(home), "MARVIN_HOME": str(home / "marvin"), **environ})


def add_vendor(home: Path, file_name: str, content: object) -> Path:
    file = home / "marvin" / "config" / "vendors" / file_name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def add_key_file(home: Path, mode: int) -> None:
    file = home / ".ssh" / "GROQ_API_KEY"
    file.parent.mkdir()
    file.write_text("gsk-from-file\n")
    file.chmod(mode)


def test_every_built_in_vendor_is_whole(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    whole = {name: vendors.load(name, chosen) for name in vendors.names(chosen)}
    assert {"anthropic", "gemini", "groq", "ollama", "openai", "openai-compat"} <= set(whole)
    facts = {name: (vendor.base_url, vendor.default_model, vendor.price_vendor) for name, vendor in whole.items()}
    wanted = {
        "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro-preview", "google"),
        "groq": ("https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", "groq"),
        "openai": ("https://api.openai.com/v1", "gpt-5.1", "openai"),
        "openai-compat": ("https://openrouter.ai/api/v1", "qwen/qwen3-32b", "openrouter"),
    }
    assert {name: facts[name] for name in wanted} == wanted
    assert [name for name, vendor in whole.items() if vendor.title == name] == []


def test_an_unknown_provider_gets_the_nearest_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        vendors.load("grok", settings(tmp_path), ("offline",))
    assert str(caught.value).startswith("unknown provider 'grok'; did you mean groq")
    assert str(caught.value).endswith(", offline)")


@pytest.mark.parametrize(
    ("file_name", "content"),
    [
        ("acme.json", json.dumps(OWN)),
        ("acme.yaml", "wire_api: openai_chat\nbase_url: https://gateway.example/v1\nkey_variable: ACME_KEY\n"),
    ],
)
def test_a_person_adds_a_vendor_by_a_file(tmp_path: Path, file_name: str, content: str) -> None:
    file = add_vendor(tmp_path, file_name, content)
    chosen = settings(tmp_path, {"model": "acme-1"}, ACME_KEY="k")
    assert vendors.load("acme", chosen) == vendors.Vendor(name="acme", title="acme", file=file, **OWN)
    assert vendors.usable(chosen) == vendors.load("acme", chosen)
    assert vendors.create(vendors.load("acme", chosen), chosen).model == "acme-1"


def test_a_persons_own_file_comes_before_the_built_in_one(tmp_path: Path) -> None:
    add_vendor(tmp_path, "groq.json", OWN)
    assert vendors.load("groq", settings(tmp_path)).base_url == "https://gateway.example/v1"


@pytest.mark.parametrize(
    ("file_name", "content", "problem"),
    [
        ("a.json", '{\n "title": \n}', ":3: Expecting value"),
        ("a.json", [], ": lacks wire_api"),
        ("a.json", {"wire_api": "openai_chat"}, ": lacks base_url"),
        (
            "a.json",
            {**OWN, "wire_api": "soap"},
            ": wire_api needs one of openai_chat, openai_responses,",
        ),
        (
            "a.json",
            {**OWN, "base_url": "host/v1"},
            ": base_url needs an address such as https://host/v1, not 'host/v1'",
        ),
        ("a.json", {**OWN, "quirks": ["x"]}, ": quirks needs a list of no_stream_options"),
        ("a.json", {**OWN, "contexts": {"m": "8k"}}, ": contexts needs a number of tokens"),
        ("a.json", {**OWN, "abilities": {"m": ["see"]}}, ": abilities needs a list of tools, images, thinking for the"),
        ("a.json", {**OWN, "larger": {"m": 3}}, ": larger needs a text for the beginning of each model's name, not"),
        ("a.json", {**OWN, "larger": "m"}, ": larger needs a text for the beginning of each model's name, not 'm'"),
        ("a.json", {**OWN, "price": 1}, ": unknown field 'price'; known: title, wire_api"),
        ("a.json", "[" * 100_000, ": "),
        ("a.yaml", "wire_api: openai_chat\nbase_url: [", ": line 2: "),
        ("a.yaml", "", ": lacks wire_api"),
    ],
)
def test_a_broken_vendor_file_is_one_line_that_names_it(
    tmp_path: Path, file_name: str, content: object, problem: str
) -> None:
    file = add_vendor(tmp_path, file_name, content)
    chosen = settings(tmp_path, OPENAI_API_KEY="k")
    with pytest.raises(UsageError) as broken:
        vendors.load("a", chosen)
    assert str(broken.value).startswith(f"{file}{problem}")
    assert "\n" not in str(broken.value)
    usable = vendors.usable(chosen)
    assert usable
    assert usable.name == "openai"


def test_a_key_comes_from_the_variable_before_the_file(tmp_path: Path) -> None:
    add_key_file(tmp_path, 0o600)
    groq = vendors.load("groq", settings(tmp_path))
    assert vendors.key(groq, settings(tmp_path, GROQ_API_KEY=" gsk-1 ")) == Key("gsk-1", "GROQ_API_KEY")
    assert vendors.key(groq, settings(tmp_path)) == Key("gsk-from-file", "~/.ssh/GROQ_API_KEY")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o601])
def test_a_key_file_that_others_can_get_at_is_ignored(tmp_path: Path, mode: int) -> None:
    add_key_file(tmp_path, mode)
    groq = vendors.load("groq", settings(tmp_path))
    reason = "~/.ssh/GROQ_API_KEY is ignored, since others can get at it (chmod 600 ~/.ssh/GROQ_API_KEY)"
    assert vendors.key(groq, settings(tmp_path)) == Key(None, reason)


def test_what_cannot_be_a_key_is_not_sent(tmp_path: Path) -> None:
    chosen = settings(tmp_path, OPENAI_API_KEY="sk-1\r\nevil: header")
    assert vendors.key(vendors.load("openai", chosen), chosen).value is None


def test_a_key_is_never_shown() -> None:
    assert "secret" not in repr(Key("secret", "X"))


def test_a_missing_key_says_where_to_put_it(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    with pytest.raises(Auth) as caught:
        vendors.create(vendors.load("groq", chosen), chosen)
    assert str(caught.value) == (
        "Groq needs a key: ~/.ssh/GROQ_API_KEY cannot be read (No such file or directory); "
        "put it in GROQ_API_KEY or ~/.ssh/GROQ_API_KEY, or run: marvin doctor"
    )


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8080", "http://localhost/v1/chat/completions", "http://[::1]:1/"]
)
def test_a_model_on_this_machine_needs_no_key(tmp_path: Path, address: str) -> None:
    chosen = settings(tmp_path, OPENAI_COMPAT_URL=address)
    usable = vendors.usable(chosen)
    assert usable
    assert vendors.create(usable, chosen).name == "openai-compat"


@pytest.mark.parametrize("address", ["http://127.0.0.1.example:80", "https://localhost.example/v1"])
def test_a_host_that_looks_like_this_machine_needs_a_key(tmp_path: Path, address: str) -> None:
    chosen = settings(tmp_path, OPENAI_COMPAT_URL=address)
    assert vendors.usable(chosen) is None
    with pytest.raises(Auth):
        vendors.create(vendors.load("openai-compat", chosen), chosen)


@pytest.mark.parametrize(
    "address", ["api.example.com/v1", "ftp://host", "https://", "http://host:port/", "http://[::1"]
)
def test_a_wrong_address_names_its_variable(tmp_path: Path, address: str) -> None:
    chosen = settings(tmp_path, OPENAI_BASE_URL=address, OPENAI_API_KEY="k")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        vendors.create(vendors.load("openai", chosen), chosen)


def test_among_several_keys_the_order_of_the_settings_decides(tmp_path: Path) -> None:
    order: dict[str, object] = {"provider_order": ["groq", "gemini"]}
    first = vendors.usable(settings(tmp_path, GROQ_API_KEY="g", GEMINI_API_KEY="m"))
    other = vendors.usable(settings(tmp_path, order, GROQ_API_KEY="g", GEMINI_API_KEY="m"))
    assert first
    assert other
    assert (first.name, other.name) == ("gemini", "groq")
    assert vendors.usable(settings(tmp_path)) is None


def test_the_model_comes_from_the_strongest_source_that_names_one(tmp_path: Path) -> None:
    groq = vendors.load("groq", settings(tmp_path))
    config = tmp_path / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("model: of-file\n")
    chosen = [
        settings(tmp_path, {"model": "of-flag"}, MARVIN_MODEL="of-marvin", GROQ_MODEL="of-vendor"),
        settings(tmp_path, MARVIN_MODEL="of-marvin", GROQ_MODEL="of-vendor"),
        settings(tmp_path, GROQ_MODEL="of-vendor"),
        settings(tmp_path),
    ]
    assert [vendors.model(groq, one) for one in chosen] == ["of-flag", "of-marvin", "of-vendor", "of-file"]


def test_a_vendor_without_a_default_model_asks_for_one(tmp_path: Path) -> None:
    add_vendor(tmp_path, "acme.json", {**OWN, "model_variable": "ACME_MODEL"})
    chosen = settings(tmp_path)
    with pytest.raises(UsageError, match="--model or ACME_MODEL"):
        vendors.model(vendors.load("acme", chosen), chosen)
