"""``python -m tests.transcripts.record`` writes what an editor and the real server say to each other in a few scenes.

A transcript is a file of JSON lines, as ``marvin lsp --record`` writes them, with what differs from run to run made the
same: ids, times, folders, durations, and how deltas happened to be batched. ``play.py`` plays one to an editor, and
``page.py`` cuts one for docs/protocol.md.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from marvin_server import __version__
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import THOUGHTFUL, Call, Reply, Scenario
from tests.servers.scenarios import calls, deltas, runs, says, status

FOLDER = Path(__file__).parent
SAVED = "def total(prices):\n    return sum(prices)\n"
UNSAVED = SAVED + "\n\ndef mean(prices):\n    return total(prices) / len(prices)\n"
FIX = (
    "    return total(prices) / len(prices)\n",
    "    return total(prices) / len(prices) if prices else 0\n",
)
CAPABILITIES: dict[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "experimental": {"marvin": {"protocolVersion": 1, "documentSave": {}}},
}
# These say how things stand, and come whenever they like.
WHENEVER = ("marvin/session/changed", "marvin/status/changed")
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{26}(?![0-9a-f])")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
_SAME = {"durationMs": 1, "processId": None}
Line = dict[str, Any]


class Scene:
    """An editor in a small workspace whose ``shop.py`` is open with unsaved changes."""

    def __init__(self, editor: Editor, workspace: Path) -> None:
        self.editor = editor
        self.workspace = workspace
        self.uri = (workspace / "shop.py").as_uri()
        self.session = ""

    async def begin(self, **params: Any) -> None:
        await self.editor.initialize(capabilities=CAPABILITIES, rootUri=self.workspace.as_uri())
        document = {"uri": self.uri, "languageId": "python", "version": 2, "text": UNSAVED}
        self.editor.notify("textDocument/didOpen", {"textDocument": document})
        self.session = await self.editor.session(self.workspace, **params)

    async def say(self, text: str, **params: Any) -> str:
        return await self.editor.turn(self.session, text, clientTurnId=text, **params)

    async def finished(self, nth: int = 1) -> None:
        await self.editor.event("turn.finished", self.session, nth=nth)

    async def load(self) -> None:
        await self.editor.request("marvin/session/load", {"sessionId": self.session})

    async def apply_edit(self) -> None:
        """Take the edit that the server asks for, as an editor does."""
        asked = await self.editor.until(lambda message: message.get("method") == "workspace/applyEdit")
        (change,) = asked["params"]["edit"]["documentChanges"]
        self.editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
        changes = [{"range": edit["range"], "text": edit["newText"]} for edit in reversed(change["edits"])]
        now = {"uri": self.uri, "version": 3}
        self.editor.notify("textDocument/didChange", {"textDocument": now, "contentChanges": changes})

    async def save(self, text: str) -> None:
        """Save the document as the server asks for it, with ``text`` in it."""
        asked = await self.editor.until(lambda message: message.get("method") == "marvin/document/save")
        (self.workspace / "shop.py").write_text(text)
        self.editor.notify("textDocument/didSave", {"textDocument": {"uri": self.uri}, "text": text})
        self.editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"saved": [self.uri]}})


async def chat(scene: Scene) -> None:
    await scene.begin(title="A chat")
    await scene.say("What does shop.py do?", context=[{"type": "buffer", "uri": scene.uri, "version": 2}])
    await scene.finished()
    await scene.load()
    await scene.editor.request("marvin/usage/get", {"sessionId": scene.session})


async def question(scene: Scene) -> None:
    await scene.begin()
    await scene.say("Run the tests.")
    asked = await scene.editor.event("permission.requested", scene.session)
    await scene.load()
    answer = {"permissionId": asked["permission"]["id"], "decision": "allowOnce"}
    await scene.editor.request("marvin/permission/answer", answer)
    await scene.finished()


async def denied(scene: Scene) -> None:
    await scene.begin()
    await scene.say("Run the tests.")
    asked = await scene.editor.event("permission.requested", scene.session)
    answer = {"permissionId": asked["permission"]["id"], "decision": "denyAndStop", "note": "not now"}
    await scene.editor.request("marvin/permission/answer", answer)
    await scene.finished()


async def patch(scene: Scene) -> None:
    await scene.begin()
    await scene.say("Mean of nothing is 0.")
    await scene.apply_edit()
    await scene.finished()
    applied = await scene.editor.event("patch.applied", scene.session)
    await scene.editor.request("marvin/patch/resolve", {"patchId": applied["patch"]["id"], "accept": "all"})


async def review(scene: Scene) -> None:
    await scene.begin(mode="review")
    await scene.say("Mean of nothing is 0.")
    proposed = (await scene.editor.event("patch.proposed", scene.session))["patch"]
    (hunk,) = proposed["edits"][0]["hunks"]
    reject = [{"hunkId": hunk["id"], "reason": "raise an error instead"}]
    await scene.editor.request("marvin/patch/resolve", {"patchId": proposed["id"], "reject": reject})
    await scene.finished()


async def worked(scene: Scene) -> None:
    """The one that docs/protocol.md shows: all that was written so far is saved."""
    (scene.workspace / "shop.py").write_text(UNSAVED)
    await scene.begin()
    whole = {"start": {"line": 4, "character": 0}, "end": {"line": 6, "character": 0}}
    selection = {"type": "selection", "uri": scene.uri, "version": 2, "range": whole}
    await scene.say("Why does mean fail? Fix it.", context=[selection])
    await scene.apply_edit()
    await scene.save(UNSAVED.replace(*FIX))
    asked = await scene.editor.event("permission.requested", scene.session)
    answer = {"permissionId": asked["permission"]["id"], "decision": "allowOnce"}
    await scene.editor.request("marvin/permission/answer", answer)
    await scene.finished()
    applied = await scene.editor.event("patch.applied", scene.session)
    await scene.editor.request("marvin/patch/resolve", {"patchId": applied["patch"]["id"], "accept": "all"})
    await scene.editor.request("marvin/session/load", {"sessionId": scene.session, "limit": 1})
    with suppress(Refused):
        await scene.editor.request("marvin/turn/start", {"sessionId": scene.session, "input": "Thanks!"})


async def cancelled(scene: Scene) -> None:
    await scene.begin()
    turn = await scene.say("Tell me everything.")
    await scene.editor.event("message.delta", scene.session)
    await scene.editor.request("marvin/turn/cancel", {"sessionId": scene.session, "turnId": turn})
    await scene.finished()


async def failed(scene: Scene) -> None:
    await scene.begin()
    await scene.say("Hello?")
    await scene.finished()


_PATCH = json.dumps({"path": "shop.py", "old_str": FIX[0], "new_str": FIX[1]})
_CHECK = json.dumps({"command": "python3 -c 'import shop; print(shop.mean([]))'"})
SCENES: dict[str, tuple[Scenario, Callable[[Scene], Awaitable[None]]]] = {
    "chat": ([Reply(THOUGHTFUL)], chat),
    "question": ([runs("echo 2 passed"), says("Both pass.")], question),
    "denied": ([runs("echo 2 passed")], denied),
    "patch": ([calls(Call("apply_patch", _PATCH)), says("Done.")], patch),
    "review": ([calls(Call("apply_patch", _PATCH)), says("As you like.")], review),
    "worked": (
        [
            calls(Call("apply_patch", _PATCH)),
            calls(Call("run_command", _CHECK)),
            says("`mean` divided by zero when there were no prices; now it is 0."),
        ],
        worked,
    ),
    "cancelled": ([deltas(1, stall_after=1)], cancelled),
    "failed": ([status(401)], failed),
}


async def recorded(name: str, folder: Path) -> list[Line]:
    """The scene as it is played now; ``folder`` is empty, and has the home and the workspace afterwards."""
    replies, play = SCENES[name]
    workspace, record = folder / "workspace", folder / "record.jsonl"
    workspace.mkdir()
    (workspace / "shop.py").write_text(SAVED)
    config = folder / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("sandbox: off\n")
    with ThreadedModelServer(replies) as server:
        environ = {
            "HOME": str(folder),
            "MARVIN_HOME": str(folder / "marvin"),
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_API_KEY": "sk-transcript",
            "OPENAI_COMPAT_MODEL": "test-model",
            "MARVIN_PROVIDER": "openai-compat",
        }
        editor = await Editor.start(workspace, environ, "--record", record)
        try:
            await play(Scene(editor, workspace))
            await editor.leave()
        finally:
            await editor.close()
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    text = json.dumps([{"from": line["from"], "message": line["message"]} for line in lines])
    text = text.replace(server.origin.removeprefix("http://"), "127.0.0.1:1").replace(str(workspace), "/workspace")
    text = text.replace(f'"version": "{__version__}"', '"version": "0.0.0"')
    names: dict[str, str] = {}
    text = _ID.sub(lambda found: names.setdefault(found[0], f"{len(names) + 1:026x}"), text)
    return list(_alike(_TIME.sub("2026-01-01T00:00:00.000000Z", text)))


def _alike(text: str) -> Iterator[Line]:
    """The messages, with each event in a notification of its own and deltas that follow each other put together."""
    delta: Line | None = None
    counts: dict[str, int] = {}
    for line in json.loads(text, object_hook=lambda each: {key: _SAME.get(key, value) for key, value in each.items()}):
        message = line["message"]
        if message.get("method") != "marvin/turn/events":
            result: Any = message.get("result")
            if result and "seq" in result:
                result["seq"] = counts.get(result["session"]["id"], 0)
            if message.get("method") not in WHENEVER:
                yield line
            continue
        for event in message["params"]["events"]:
            if delta and {**delta, "text": ""} == {**event, "text": ""}:
                delta["text"] += event["text"]
                continue
            delta = event if event["type"].endswith((".delta", ".output")) else None
            session = message["params"]["sessionId"]
            counts[session] = counts.get(session, 0) + 1
            params = {**message["params"], "seq": counts[session], "events": [event]}
            yield {"from": "server", "message": {**message, "params": params}}


def read(name: str) -> list[Line]:
    """The transcript as it is kept."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def write(name: str, lines: Sequence[Line]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in SCENES:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            write(each, asyncio.run(recorded(each, Path(place))))
