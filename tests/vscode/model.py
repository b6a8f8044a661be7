"""What the scripted model says in the VS Code suite: the prompt's first word decides."""

import json
from typing import Any

from tests.servers import openai_wire
from tests.servers.openai_request import asked
from tests.servers.reply import THOUGHTFUL, Call, Reply
from tests.servers.scenarios import calls, deltas, runs, says

MESSAGE = "Add prices instead of subtracting them"
ANSWER = """It fails because `total` **subtracts**:

```python
for price in prices:
    result -= price
```

| prices | total |
|---|---|
| 250, 150 | -400 |

1. Start at zero.
2. Add each price.
"""
PATCH = """*** Begin Patch
*** Update File: shop/basket.py
@@
-    \"\"\"The sum of all prices, in cents.\"\"\"
+    \"\"\"The sum of all prices.
+
+    In cents.\"\"\"
@@
-        result -= price
+        result += price
*** End Patch"""
TOKENS = 50_000


def answer(body: Any, _: int) -> Reply:  # noqa: PLR0911
    messages = body["messages"]
    prompt = asked(body)
    has_done = messages[-1]["role"] == "tool"
    if "git commit" in prompt:
        return says(f"{MESSAGE}\n") if has_done else calls(Call("git_diff", "{}"))
    if has_done:
        return says("Done.")
    if "Fix what is wrong" in prompt:
        prompt = "Fix"
    word, _space, rest = prompt.partition("\n\n[From the editor.")[0].rpartition("\n\n")[2].partition(" ")
    match word:
        case "Improve":
            return calls(Call("apply_patch", json.dumps({"patch": PATCH})))
        case "Fix":
            patch = {"path": "shop/basket.py", "old_str": "result -= price", "new_str": "result += price"}
            return calls(Call("apply_patch", json.dumps(patch)))
        case "Run":
            return runs(rest)
        case "Think":
            return Reply(THOUGHTFUL)
        case "Why":
            return says(*ANSWER.splitlines(keepends=True))
        case "Slowly":
            return deltas(4_000, gap=0.01)
        case "Much":
            return much()
        case "Repeat":
            return says(prompt)
        case _:
            return says(f"You said: {word} {rest}".rstrip())


def much() -> Reply:
    """50,000 tokens in lines and paragraphs of a usual length, with code among them, as fast as they are taken."""
    words = (f"word{number}{' ' if number % 12 else chr(10) * (1 + (number % 60 == 0))}" for number in range(TOKENS))
    return Reply(openai_wire.stream(*({"content": word} for word in words)))
