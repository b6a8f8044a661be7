"""What hosts tell the view in these tests: events of a turn, a question, a change."""

from typing import Any

STARTED = {"type": "turn.started", "turnId": "t", "sessionId": "s", "provider": "p", "model": "m"}
PERMISSION: dict[str, Any] = {
    "id": "q",
    "kind": "command",
    "title": "make",
    "reason": "Run a bash command.",
    "decidedBy": "mode auto: commands must be asked for",
    "command": {
        "display": "make test",
        "shell": "/bin/bash",
        "cwd": "/workspace",
        "envChanges": {},
        "scripts": [],
        "sandbox": "off",
    },
    "options": ["allowOnce", "allowSession", "allowEdited", "deny", "denyAndStop"],
    "isWhole": True,
}
PATCH: dict[str, Any] = {
    "id": "p",
    "title": "apply_patch shop.py",
    "edits": [
        {
            "kind": "update",
            "path": "shop.py",
            "uri": "file:///workspace/shop.py",
            "hunks": [
                {"id": "h1", "oldStart": 1, "oldLines": ["a\n"], "newStart": 1, "newLines": ["A\n"]},
                {"id": "h2", "oldStart": 9, "oldLines": [], "newStart": 9, "newLines": ["b\n", "c\n"]},
            ],
        }
    ],
}


def said(text: str, role: str = "assistant", name: str = "a") -> dict[str, Any]:
    return {
        "type": "message.finished",
        "message": {"role": role, "id": name, "parts": [{"type": "text", "text": text}]},
    }
