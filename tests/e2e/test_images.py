"""Pictures: sent with a prompt, read by a tool, and kept from a model that takes none."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import COST_FREE, lines
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says, status

PNG = b"\x89PNG\r\n\x1a\n\0\xff a picture"
GIF = b"GIF89a another"
NOTE = "[a picture was here; test-model takes none]"


@pytest.fixture
def blind(home: Path) -> None:
    """Marvin knows that ``test-model`` takes no pictures."""
    configure(home, "models:\n  test-model: {images: false}\n")


def configure(home: Path, text: str) -> Path:
    config = home / "marvin" / "config"
    (config / "vendors").mkdir(parents=True)
    (config / "config.yaml").write_text(text)
    return config


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    file = tmp_path / "a.png"
    file.write_bytes(PNG)
    return file


def url(content: bytes, mime_type: str = "image/png") -> dict[str, Any]:
    data = base64.b64encode(content).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{data}"}}


def test_pictures_from_files_standard_input_and_the_clipboard_go_with_the_prompt(
    ask: Any, model_server: ThreadedModelServer, picture: Path, tmp_path: Path
) -> None:
    paste = tmp_path / "bin" / "wl-paste"
    paste.parent.mkdir()
    paste.write_text(f'#!/bin/sh\ncase "$1" in --list-types) echo image/png;; *) cat "{picture}";; esac\n')
    paste.chmod(0o755)
    (tmp_path / "no-suffix").write_bytes(GIF)
    sources = ("--image", picture, "--image", "no-suffix", "--image", "-", "--image", "clipboard")
    done = ask(*sources, prompt="Same?", stdin=PNG, env={"PATH": f"{paste.parent}:/usr/bin:/bin"})
    assert done.exit_code == 0, done.stderr
    assert model_server.requests[0].json["messages"][-1] == {
        "role": "user",
        "content": [url(PNG), url(GIF, "image/gif"), url(PNG), url(PNG), {"type": "text", "text": "Same?"}],
    }


def test_the_prompt_may_come_from_standard_input_beside_a_picture(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], picture: Path
) -> None:
    done = marvin("--non-interactive", "--image", picture, stdin="What is it?", env=model_environ)
    assert done.exit_code == 0, done.stderr
    assert model_server.requests[0].json["messages"][-1]["content"] == [
        url(PNG),
        {"type": "text", "text": "What is it?"},
    ]


@pytest.mark.parametrize(
    ("words", "code", "says_what"),
    [
        (["--image", "a.png"], 1, "there is no prompt|a picture needs a prompt: say with --prompt"),
        (["--image", "-"], 1, "a picture needs a prompt: say with --prompt"),
        (["--image", "-", "--prompt", " "], 1, "a picture needs a prompt"),
        (["--image", "-", "-"], 2, "standard input can be read once only"),
        (["--image", "-", "--prompt", "-"], 2, "standard input can be read once only"),
        (["--image", "-", "--image", "-", "--prompt", "a"], 2, "standard input can be read once only"),
        (["--image", "-", "--prompt", "a"], 2, "--image -: this is no PNG, JPEG, GIF or WebP"),
        (["--image", "missing.png", "--prompt", "a"], 2, "--image missing.png: No such file"),
        (["--image", ".", "--prompt", "a"], 2, "--image .: Is a directory"),
        (["--image", "text.png", "--prompt", "a"], 2, "--image text.png: this is no PNG"),
        (["--image", "large.png", "--prompt", "a"], 2, "--image large.png: more than 5 MB"),
        (["--image", "", "--prompt", "a"], 2, "argument --image: it must not be empty"),
        (["--image", "clipboard", "--prompt", "a"], 1, "install wl-clipboard"),
    ],
)
def test_what_is_no_picture_is_refused_before_anything_is_asked(
    marvin: Marvin,
    model_server: ThreadedModelServer,
    model_environ: dict[str, str],
    picture: Path,
    words: list[str],
    code: int,
    says_what: str,
) -> None:
    picture.with_name("text.png").write_text("not a picture")
    picture.with_name("large.png").write_bytes(PNG + bytes(5_000_000))
    done = marvin("--non-interactive", *words, env={**model_environ, "PATH": str(picture.parent)})
    assert (done.exit_code, done.stdout, done.cost) == (code, "", COST_FREE)
    assert re.search(says_what, lines(done.stderr)[-1])
    assert model_server.requests == ()


@pytest.mark.usefixtures("blind")
def test_a_picture_for_a_model_that_takes_none_is_a_usage_error(
    ask: Any, model_server: ThreadedModelServer, picture: Path
) -> None:
    done = ask("--image", picture)
    assert (done.exit_code, model_server.requests) == (2, ())
    (line,) = lines(done.stderr)
    assert line.startswith("marvin: --image: test-model (openai-compat) takes no pictures; name a model that does")


def test_the_offline_provider_takes_no_pictures(marvin: Marvin, picture: Path) -> None:
    done = marvin("--non-interactive", "--provider", "offline", "--prompt", "What is it?", "--image", picture)
    assert done.exit_code == 2
    assert "offline (offline) takes no pictures" in done.stderr


@pytest.mark.usefixtures("blind")
def test_a_model_that_takes_none_reads_so_where_it_looks_at_a_picture(
    ask: Any, model_server: ThreadedModelServer, picture: Path
) -> None:
    model_server.play([calls(Call("read_file", '{"path": "a.png"}')), says("I cannot see it.")])
    done = ask()
    assert done.exit_code == 0, done.stderr
    *_, result = model_server.requests[1].json["messages"]
    assert (result["role"], result["content"]) == ("tool", f"[image/png image, {len(PNG)} bytes]\n{NOTE}")


def test_a_session_that_goes_on_with_such_a_model_keeps_its_pictures(
    ask: Any, model_server: ThreadedModelServer, picture: Path, home: Path
) -> None:
    ask("--image", picture, prompt="What is it?")
    config = configure(home, "models:\n  test-model: {images: false}\n")
    ask("--continue", prompt="And now?")
    assert model_server.requests[1].json["messages"][1] == {"role": "user", "content": f"{NOTE}\nWhat is it?"}
    (config / "config.yaml").write_text("")
    ask("--continue", prompt="Again?")
    assert model_server.requests[2].json["messages"][1]["content"][0] == url(PNG)


def test_a_fallback_that_takes_no_pictures_gets_a_note(marvin: Marvin, home: Path, picture: Path) -> None:
    config = configure(home, "fallback: [second]\nmodels:\n  model-second: {images: false}\n")
    with ThreadedModelServer([status(500)]) as first, ThreadedModelServer([says("No idea.")]) as second:
        for name, server in {"first": first, "second": second}.items():
            vendor = {"wire_api": "openai_chat", "base_url": server.url, "default_model": f"model-{name}"}
            (config / "vendors" / f"{name}.json").write_text(json.dumps(vendor))
        done = marvin("--non-interactive", "--provider", "first", "--image", picture, "--prompt", "What is it?")
    assert (done.exit_code, done.stdout) == (0, "No idea.\n")
    assert first.requests[0].json["messages"][-1]["content"][0] == url(PNG)
    note = "[a picture was here; model-second takes none]"
    assert second.requests[0].json["messages"][-1]["content"] == f"{note}\nWhat is it?"


def test_a_model_without_tools_is_given_none_and_the_person_is_told_once(
    ask: Any, model_server: ThreadedModelServer, home: Path
) -> None:
    configure(home, "models:\n  test-model: {tools: false}\n")
    model_server.play([status(429, Retry_After="0"), says("Hello")])
    done = ask()
    assert (done.exit_code, done.stdout) == (0, "Hello\n")
    assert ["tools" in request.json for request in model_server.requests] == [False, False]
    told = [line for line in lines(done.stderr) if "tools" in line]
    assert told == ["marvin: test-model takes no tools: it can look nothing up and change nothing"]
