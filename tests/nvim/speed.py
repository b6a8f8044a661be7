"""``python -m tests.nvim.speed`` measures how long a long stream and a large edit hold up Neovim's main loop."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.nvim.neovim import drive
from tests.servers import openai_wire
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, says

TOKENS, LINES = 50_000, 1_000


def answer(body: Any, _: int) -> Reply:
    """50,000 tokens in lines of a usual length, or an edit of a thousand lines."""
    messages = body["messages"]
    if messages[-1]["role"] == "tool":
        return says("Done.")
    if "Rewrite" in str(messages[-1]["content"]):
        old = "".join(f"line {number}\n" for number in range(LINES))
        patch = {"path": "long.txt", "old_str": old, "new_str": old.replace("line", "new line")}
        return calls(Call("apply_patch", json.dumps(patch)))
    words = (f"word{number}{' ' if number % 12 else chr(10) * (1 + (number % 60 == 0))}" for number in range(TOKENS))
    return Reply(openai_wire.stream(*({"content": word} for word in words)))


def measured(folder: Path) -> dict[str, Any]:
    """In ms: ``stream`` and ``edit``, the longest time for which the main loop was held up; and what came of it."""
    file = folder / "long.txt"
    file.write_text("".join(f"line {number}\n" for number in range(LINES)))
    with ThreadedModelServer(answer) as server:
        environ = {
            "MARVIN_HOME": str(folder / "marvin"),
            "LLM_PROVIDER": "openai-compat",
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_API_KEY": "sk-test",
            "OPENAI_COMPAT_MODEL": "test-model",
        }
        return drive("speed.lua", folder, {**os.environ, **environ}, file)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        print(json.dumps(measured(Path(place))))
