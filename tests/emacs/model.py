"""What the scripted model says in the Emacs suite: the prompt's first word decides."""

import json
from typing import Any

from tests.servers import openai_wire
from tests.servers.openai_request import asked, text
from tests.servers.reply import THOUGHTFUL, Call, Delivery, Reply
from tests.servers.scenarios import calls, deltas, runs, says

BEFORE = "        result -= price\n"
AFTER = "        result += price\n"
END = "    return result\n"
DECLARED = "\n\ndef by_marvin() -> int:\n    return 1\n"
MESSAGE = "Add prices instead of subtracting them"
LINES = 1000


def answer(body: Any, _: int) -> Reply:  # noqa: PLR0911
    """``Wait`` asks to run a command, then changes the file."""
    messages = body["messages"]
    prompt = asked(body)
    has_done = messages[-1]["role"] == "tool"
    word, _space, rest = prompt.rpartition("\n\n")[2].partition(" ")
    # What a summary is to keep in view.
    word = "Slowly" if "above all: Slowly" in text(messages[0]["content"]) else word
    if "git commit" in prompt:
        return says(f"{MESSAGE}\n") if has_done else calls(Call("git_diff", "{}"))
    if word == "Wait" and messages[-1]["role"] != "tool":
        return calls(Call("run_command", json.dumps({"command": "true"})))
    if has_done and not (word == "Wait" and messages[-2]["tool_calls"][0]["function"]["name"] == "run_command"):
        return says("Done.")
    if "Fix what is wrong" in prompt or "What is to be done" in prompt or word in ("Fix", "Wait"):
        patch = {"path": "shop/basket.py", "old_str": BEFORE, "new_str": AFTER}
        return calls(Call("apply_patch", json.dumps(patch)))
    match word:
        case "Think":
            return Reply(THOUGHTFUL)
        case "Run":
            return runs(rest)
        case "Slowly":
            return deltas(4_000, gap=0.01)
        case "Much":
            words = (f"word{number}{chr(10) if number % 15 == 14 else ' '}" for number in range(50_000))
            return Reply(openai_wire.stream(*({"content": word} for word in words)), delivery=Delivery(piece=65_536))
        case "Declare":
            patch = {"path": "shop/basket.py", "old_str": END, "new_str": END + DECLARED}
            return calls(Call("apply_patch", json.dumps(patch)))
        case "Rewrite":
            old = "".join(f"line {number}\n" for number in range(LINES))
            new = "".join(f"{number} line\n" for number in range(LINES))
            return calls(Call("apply_patch", json.dumps({"path": "long.txt", "old_str": old, "new_str": new})))
        case "Code":
            return says("Look:\n\n```python\ndef f():\n    return 1\n```\n\n# A heading\n\nand **bold**.")
        case _:
            return says(f"You said: {prompt.rpartition(chr(10))[2]}")
