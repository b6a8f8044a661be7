"""Settings from flags, environment and file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server import paths, settings
from marvin_server.errors import UsageError
from marvin_server.model_settings import ModelSettings
from marvin_server.settings import Settings


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"MARVIN_HOME": str(tmp_path)}


def write(environ: dict[str, str], text: str) -> Path:
    file = paths.find(environ).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_without_anything_the_defaults_hold(environ: dict[str, str]) -> None:
    assert settings.load({}, environ) == Settings(paths=paths.find(environ), environ=environ)


def test_a_flag_beats_the_environment_which_beats_the_file(environ: dict[str, str]) -> None:
    write(environ, "provider: groq\nmodel: from-file\nmax_rounds: 3\nsandbox: off\n")
    environ |= {"LLM_PROVIDER": "gemini", "MARVIN_MODEL": "from-environment"}
    loaded = settings.load({"provider": "openai", "model": None, "max_rounds": "7"}, environ)
    assert (loaded.provider, loaded.model, loaded.default_model) == ("openai", "from-environment", "from-file")
    assert (loaded.max_rounds, loaded.sandbox, loaded.warnings) == (7, "off", ())


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("provder: groq\n", ":1: unknown setting 'provder' is ignored; known: provider, model,"),
        ("\n\nmax_rounds: many\n", ":3: max_rounds needs a whole number of at least 1, not 'many'; it is ignored"),
        (
            "approve: sometimes\n",
            ":1: approve needs one of all, rules, none, not 'sometimes'; the strictest holds: none",
        ),
        ("stall_timeout: -1\n", ":1: stall_timeout needs a number above 0, not -1; it is ignored"),
        ("model: 2024-99-99\n", ": 'month must be in 1..12'"),
        (f"max_rounds: {'9' * 5000}\n", ": "),
        (f"request_timeout: {'9' * 400}\n", ":1: request_timeout needs a number above 0"),
        (f"model: {'[' * 3000}\n", ":2: "),
        ("provider: [a\n", ":2: "),
        ("- a\n- b\n", ":1: expected lines such as 'provider: groq'; the file is ignored"),
        ("ntfy_server: ntfy.sh\n", ":1: ntfy_server needs a URL"),
        ("1: 2\n", ":1: unknown setting 1 is ignored"),
        ("? [a, b]\n: 1\n", ":1: "),
        ("provider: !!python/object:os.system x\n", ":1: "),
        ("a: &a [*a]\n", ":1: "),
    ],
)
def test_a_wrong_file_is_one_warning_with_file_and_line(environ: dict[str, str], text: str, warning: str) -> None:
    file = write(environ, text)
    loaded = settings.load({}, environ)
    assert len(loaded.warnings) == 1
    assert loaded.warnings[0].startswith(f"{file}{warning}")
    assert "\n" not in loaded.warnings[0]


@given(text=st.text())
def test_no_file_content_ever_raises(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    environ = {"MARVIN_HOME": str(tmp_path_factory.mktemp("home"))}
    file = paths.find(environ).config_file
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    settings.load({}, environ)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("approve: non\n", "approve", "none"),
        ("Approve: none\n", "approve", "none"),
        ("APPROVE: NONE\n", "approve", "none"),
        ("approve: off\n", "approve", "none"),
        ("approve: all\nprovider: [a\n", "approve", "none"),
        ("- approve\n", "approve", "none"),
        ("sandbox: onn\n", "sandbox", "on"),
        ("readonly: 'on'\n", "readonly", True),
        ("readonly: perhaps\n", "readonly", True),
        ("max-rounds: 3\n", "max_rounds", 3),
    ],
)
def test_a_restriction_that_cannot_be_read_never_becomes_a_freedom(
    environ: dict[str, str], text: str, name: str, value: object
) -> None:
    write(environ, text)
    assert getattr(settings.load({}, environ), name) == value


@pytest.mark.parametrize("text", ["max_cost: 5 USD\n", "profile: ../other\n", "provider: []\n"])
def test_what_cannot_be_guessed_ends_the_start(environ: dict[str, str], text: str) -> None:
    write(environ, text)
    with pytest.raises(UsageError, match=r"config\.yaml:1: "):
        settings.load({}, environ)


def test_a_file_that_expands_to_more_than_memory_is_one_short_warning(environ: dict[str, str]) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    write(environ, "\n".join([*lines, "approve: *a9"]))
    loaded = settings.load({}, environ)
    assert loaded.approve == "none"
    assert max(map(len, loaded.warnings)) < 500


def test_models_are_told_apart_by_name(environ: dict[str, str]) -> None:
    text = """models:
  gpt-5: {context: 128000, input: 2.5, output: 10, cache_read: 0, cache_write: 3, tools: true, larger: gpt-6}
  local/one: {images: no, thinking: "off"}
"""
    file = write(environ, text)
    loaded = settings.load({}, environ, file)
    assert (loaded.models, loaded.warnings) == (
        {
            "gpt-5": ModelSettings(128_000, 2.5, 10.0, 0.0, 3.0, tools=True, larger="gpt-6"),
            "local/one": ModelSettings(images=False, thinking=False),
        },
        (),
    )


def test_what_is_wrong_of_a_model_is_left_out_with_its_line(environ: dict[str, str]) -> None:
    text = """provider: openai
models:
  one:
    context: many
    input: -1
    output: .nan
    price: 3
    tools: perhaps
    thinking: true
  two: 3
  3: {}
"""
    file = write(environ, text)
    loaded = settings.load({}, environ)
    assert loaded.models == {"one": ModelSettings(thinking=True)}
    known = "context, input, output, cache_read, cache_write, tools, images, thinking, larger"
    assert loaded.warnings == tuple(
        f"{file}:{line}: models: {problem}"
        for line, problem in (
            (4, "one: context needs a whole number of at least 1, not 'many'; it is ignored"),
            (5, "one: input needs USD per million tokens, such as 2.5, not -1; it is ignored"),
            (6, "one: output needs USD per million tokens, such as 2.5, not nan; it is ignored"),
            (7, f"one: unknown field price is ignored; known: {known}"),
            (8, "one: tools needs true or false, not 'perhaps'; it is ignored"),
            (10, "two needs fields such as 'context: 128000'; it is ignored"),
            (11, "3 needs fields such as 'context: 128000'; it is ignored"),
        )
    )
    write(environ, "models: gpt-5\n")
    (warning,) = settings.load({}, environ).warnings
    assert warning == f"{file}:1: models needs models' names with fields, not 'gpt-5'; it is ignored"


def test_a_wrong_variable_is_a_warning(environ: dict[str, str]) -> None:
    loaded = settings.load({}, {**environ, "LLM_PROVIDER": "no such/name", "MARVIN_READONLY": "perhaps"})
    assert (loaded.provider, loaded.readonly) == ("no such/name", True)
    assert loaded.warnings == (
        "environment: MARVIN_READONLY needs true or false, not 'perhaps'; the strictest holds: True",
    )


def test_a_wrong_flag_is_a_usage_error(environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="--max-rounds needs a whole number of at least 1, not '0'"):
        settings.load({"max_rounds": "0"}, environ)


def test_a_file_that_was_named_must_exist(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        settings.load({}, environ, tmp_path / "missing.yaml")


def test_a_child_gets_no_secrets_and_no_other_repository(environ: dict[str, str]) -> None:
    plain = {"PATH": "/bin", "LANG": "C.UTF-8", "MONKEY": "1", "AUTHOR": "me", "SSH_AUTH_SOCK": "/run/agent"}
    plain |= {"PWD": "/work", "OLDPWD": "/", "KEYBOARD_LAYOUT": "us", "AUTHORITY": "me"}
    plain |= {"HTTP_PROXY": "http://proxy:8080", "DATABASE_HOST": "db:5432", "XAUTHORITY": "/home/x"}
    secret = ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "npm_config__auth"]
    secret += ["PGPASSWORD", "MYSQL_PWD", "DOCKER_AUTH_CONFIG", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "WEBHOOK"]
    urls = {"DATABASE_URL": "postgres://me:secret@db/x", "HTTPS_PROXY": "http://:secret@proxy:8080"}
    hidden = {**dict.fromkeys(secret, "a long secret"), **urls}
    loaded = settings.load({}, {**environ, **plain, **hidden, "GIT_DIR": "/elsewhere"})
    assert loaded.child_environ() == {**environ, **plain}
    assert loaded.secrets() == tuple(hidden.values())
    assert "a long secret" not in repr(loaded)


def test_the_platforms_places_hold_without_marvin_home(tmp_path: Path) -> None:
    assert paths.find({}).config.name == "marvin"
    assert paths.find({"MARVIN_HOME": str(tmp_path)}).database("work") == tmp_path / "data/profiles/work/marvin.db"


def test_hosts_that_the_web_tools_may_read_are_names_and_addresses(environ: dict[str, str]) -> None:
    write(environ, "web_allow: [Wiki.corp.example., 10.0.0.7, 'fd00::1']\n")
    assert settings.load({}, environ).web_allow == ("wiki.corp.example", "10.0.0.7", "fd00::1")
    write(environ, "web_allow: ['*.example.com', 'https://wiki']\n")
    loaded = settings.load({}, environ)
    assert loaded.web_allow == ()
    assert "web_allow needs the name or the address of a host" in loaded.warnings[0]
