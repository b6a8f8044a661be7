"""``python -m tests.nvim.speed`` measures how long a long stream and a large edit hold up Neovim's main loop."""

import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.e2e import editors
from tests.nvim.neovim import OPTIONS, drive, neovim
from tests.nvim.terminal import Terminal
from tests.servers import openai_wire
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply
from tests.servers.scenarios import calls, says

TOKENS, LINES = 50_000, 1_000


def stream(**delivery: Any) -> Reply:
    """50,000 tokens in lines of a usual length; ``delivery`` are fields of ``Delivery``."""
    words = (f"word{number}{' ' if number % 12 else chr(10) * (1 + (number % 60 == 0))}" for number in range(TOKENS))
    return Reply(openai_wire.stream(*({"content": word} for word in words)), delivery=Delivery(**delivery))


def answer(body: Any, _: int) -> Reply:
    """``stream``, slowly or as fast as it can be, or an edit of a thousand lines."""
    messages = body["messages"]
    if messages[-1]["role"] == "tool":
        return says("Done.")
    if "Rewrite" in str(messages[-1]["content"]):
        old = "".join(f"line {number}\n" for number in range(LINES))
        patch = {"path": "long.txt", "old_str": old, "new_str": old.replace("line", "new line")}
        return calls(Call("apply_patch", json.dumps(patch)))
    return stream(gap=0.001 if "slowly" in str(messages[-1]["content"]) else 0.0)


def typed(folder: Path, environ: dict[str, str]) -> dict[str, float]:
    """In ms, while 1,000 tokens a second stream in, and before: until keys are on the screen, as tmux sees it."""
    program = (neovim(), *OPTIONS, "long.txt")
    waits: list[float] = []
    with Terminal(program, folder, environ, folder, 120, 36) as terminal:
        terminal.see("line 20")
        terminal.type(":Marvin", "Enter")
        terminal.see("Ready")
        terminal.type("i")
        idle = [_echo(terminal, "key" * count) for count in range(1, 11)]
        terminal.type("C-u", "Count slowly", "C-s")
        terminal.shows("word")
        while "Working" in terminal.screen and len(waits) < 20:
            waits.append(_echo(terminal, "key" * (len(waits) + 1)))
    return {"idle": statistics.median(idle), "streaming": statistics.median(waits), "worst": max(waits)}


def _echo(terminal: Terminal, text: str) -> float:
    """Type the last three letters of ``text``, and wait until all of it is there."""
    began = time.monotonic()
    terminal.type(text[-3:])
    while text not in terminal.screen:
        pass
    return round((time.monotonic() - began) * 1000)


def measured(folder: Path) -> dict[str, Any]:
    """In ms: ``stream`` and ``edit``, the longest time for which the main loop was held up; and what came of it."""
    file = folder / "long.txt"
    file.write_text("".join(f"line {number}\n" for number in range(LINES)))
    with ThreadedModelServer(answer) as server:
        environ = {
            **os.environ,
            "MARVIN_HOME": str(folder / "marvin"),
            "LLM_PROVIDER": "openai-compat",
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_API_KEY": "sk-test",
            "OPENAI_COMPAT_MODEL": "test-model",
        }
        program = neovim()
        found = drive(program, "speed.lua", folder, environ, file)
        return {**found, "echo": typed(folder, {**environ, "MARVIN": str(editors.MARVIN), "LC_ALL": "C.UTF-8"})}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        print(json.dumps(measured(Path(place))))
