"""The life of the process: how it starts, what it takes, and how it ends."""

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import COMMAND, Editor, Refused, frame
from tests.lsp.frames import BROKEN
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, runs, says

REQUEST: dict[str, Any] = {"jsonrpc": "2.0", "id": 77, "method": "marvin/status", "params": {}}


def gone(mark: str) -> bool:
    """Whether no process has this word in its command line."""
    return not any(mark.encode() in path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())


async def test_initialize_tells_what_the_server_can_do(start: Start) -> None:
    editor = await start(initialize=False)
    result = await editor.initialize(
        marvin=None, capabilities={"general": {"positionEncodings": ["utf-7", "utf-32", "utf-8"]}}
    )
    marvin = result["capabilities"]["experimental"]["marvin"]
    assert result["capabilities"]["positionEncoding"] == "utf-32"
    assert (marvin["protocolVersion"], marvin["features"]["turn/start"]) == (1, {})
    assert (result["serverInfo"]["name"], marvin["version"]) == ("marvin", result["serverInfo"]["version"])
    assert await editor.leave() == 0


async def test_python_m_marvin_server_is_the_same_server_and_takes_no_module_of_the_folder(workspace: Path) -> None:
    for name in ("msgspec", "marvin_cli", "httpx", "shlex"):
        (workspace / f"{name}.py").write_text("open('ran', 'w').close()\n")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "marvin_server"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=workspace,
    )
    editor = Editor(process)
    editor.begin_reading()
    await editor.initialize()
    assert await editor.leave() == 0
    await editor.close()
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize(
    ("announced", "version"), [({"protocolVersion": 1}, 1), ({"protocolVersion": 9}, 1), ({"protocolVersion": 0}, None)]
)
async def test_the_smaller_protocol_version_holds(start: Start, announced: Any, version: int | None) -> None:
    editor = await start(initialize=False)
    result = await editor.initialize(announced)
    assert result["capabilities"]["experimental"]["marvin"]["protocolVersion"] == 1
    if version is None:
        told = await editor.until(lambda message: message.get("method") == "window/showMessage")
        assert "update the older of the two" in told["params"]["message"]
    else:
        assert (await editor.request("marvin/status"))["provider"] == "openai-compat"


async def test_a_client_may_announce_itself_in_its_initialization_options(start: Start) -> None:
    editor = await start(initialize=False)
    await editor.initialize(marvin=None, initializationOptions={"marvin": {"protocolVersion": 1}})
    assert (await editor.request("marvin/status"))["model"] == "test-model"


async def test_a_client_without_the_dialect_is_told_how_to_get_it(start: Start, workspace: Path) -> None:
    editor = await start(marvin=None)
    with pytest.raises(Refused, match=r"1006: announce capabilities.experimental.marvin"):
        await editor.session(workspace)
    assert [message["method"] for message in editor.messages if "method" in message] == []


async def test_what_an_editor_sends_of_documents_is_taken_without_a_word(editor: Editor) -> None:
    for method in ("didOpen", "didChange", "willSave", "didSave", "didClose"):
        editor.notify(f"textDocument/{method}", {"textDocument": {"uri": "file:///a", "version": 1}})
    for method in ("workspace/didChangeConfiguration", "$/setTrace", "$/progress", "window/workDoneProgress/cancel"):
        editor.notify(method)
    await editor.request("marvin/status")
    assert len(editor.messages) == 2


async def test_the_order_of_the_life_of_a_connection_is_kept(start: Start) -> None:
    editor = await start(initialize=False)
    for method, code in (("marvin/status", -32002), ("shutdown", -32002), ("nothing", -32002)):
        with pytest.raises(Refused) as refused:
            await editor.request(method)
        assert refused.value.code == code
    editor.notify("marvin/whatever")
    await editor.initialize()
    with pytest.raises(Refused, match="once only"):
        await editor.initialize()
    await editor.request("shutdown")
    for method in ("marvin/status", "shutdown", "initialize", "nothing"):
        with pytest.raises(Refused) as refused:
            await editor.request(method)
        assert refused.value.code == -32600
    editor.notify("exit")
    assert await editor.exit_code() == 0


async def test_shutdown_and_exit_in_one_write_are_a_good_end(start: Start) -> None:
    editor = await start()
    editor.write(
        frame({"jsonrpc": "2.0", "id": 77, "method": "shutdown"})
        + frame({"jsonrpc": "2.0", "id": 78, "method": "marvin/status"})
        + frame({"jsonrpc": "2.0", "method": "exit"})
    )
    with pytest.raises(Refused, match="-32600"):
        await editor.answer(78)
    assert await editor.answer(77) is None
    assert await editor.exit_code() == 0


async def test_all_of_a_connection_in_one_write_is_answered_in_order(start: Start) -> None:
    editor = await start(initialize=False)
    requests = [
        frame({"jsonrpc": "2.0", "id": at, "method": name}) for at, name in enumerate(("initialize", "shutdown"))
    ]
    editor.write(b"".join([*requests, frame({"jsonrpc": "2.0", "method": "exit"})]))
    assert editor.process.stdin
    editor.process.stdin.close()
    assert await editor.exit_code() == 0


async def test_exit_without_shutdown_is_a_failure(editor: Editor) -> None:
    editor.notify("exit")
    assert await editor.exit_code() == 1


async def test_exit_is_obeyed_before_initialize(start: Start) -> None:
    editor = await start(initialize=False)
    editor.notify("exit")
    assert await editor.exit_code() == 1


@pytest.mark.parametrize("shut_down", [True, False])
async def test_the_end_of_input_ends_the_server(editor: Editor, *, shut_down: bool) -> None:
    if shut_down:
        await editor.request("shutdown")
    assert editor.process.stdin
    editor.process.stdin.close()
    assert await editor.exit_code() == (0 if shut_down else 1)


@pytest.mark.parametrize("stream", [*BROKEN, frame(REQUEST) + b"}garbage\n" + frame(REQUEST)])
async def test_a_stream_that_cannot_be_followed_ends_the_server_with_one_line(editor: Editor, stream: bytes) -> None:
    editor.write(stream)
    assert await editor.exit_code() == 1
    (line,) = (await editor.stderr()).splitlines()
    assert line.startswith("the connection is broken: ")
    assert await editor.until(lambda message: message.get("error", {}).get("code") == -32700)


@pytest.mark.parametrize(
    "stream",
    [
        b"content-length: %d\n\n" % len(json.dumps(REQUEST)) + json.dumps(REQUEST).encode(),
        b"\xef\xbb\xbf" + frame(REQUEST),
        b"\r\n\n" + frame(REQUEST),
        frame(REQUEST).replace(b"Content", b"X-Other: 1\r\nContent-Type: text/plain\r\nContent"),
        frame([]) + frame(1) + b"Content-Length: 3\r\n\r\n{{{" + frame(REQUEST),
    ],
)
async def test_a_stream_that_can_be_followed_is(editor: Editor, stream: bytes) -> None:
    editor.write(stream)
    assert (await editor.answer(77))["busy"] is False


async def test_a_message_that_is_shorter_than_it_says_does_not_leave_the_server_deaf(editor: Editor) -> None:
    editor.write(frame(REQUEST)[:-1])
    assert await editor.exit_code(15) == 1
    assert "shorter than it says" in await editor.stderr()


async def test_what_a_tool_prints_never_reaches_the_protocol(
    start: Start, workspace: Path, home: Path, model_server: ThreadedModelServer
) -> None:
    tools = home / "marvin" / "config" / "tools"
    tools.mkdir(parents=True)
    (tools / "noisy.py").write_text(
        "import os, subprocess, sys\n"
        "from pydantic import BaseModel\n"
        "from marvin_server.tools.base import ToolContext, tool\n\n\n"
        "class Params(BaseModel):\n    pass\n\n\n"
        "@tool(effect='read')\n"
        "async def noisy(params: Params, context: ToolContext) -> str:\n"
        "    '''Print in every way.'''\n"
        "    print('printed')\n    os.write(1, b'written')\n    sys.stdout.flush()\n"
        "    subprocess.run(['echo', 'echoed'], check=True)\n"
        "    return f'read {sys.stdin.read()!r}'\n"
    )
    model_server.play([calls(Call("noisy", "{}")), says("done")])
    editor = await start()
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    finished = await editor.event("tool.finished", session_id)
    assert (finished["status"], finished["output"]) == ("ok", "read ''")
    assert await editor.leave() == 0
    stderr = await editor.stderr()
    assert all(word in stderr for word in ("printed", "written", "echoed"))


@pytest.mark.parametrize("way", ["shutdown", "end of input", "SIGTERM"])
async def test_the_end_denies_questions_kills_commands_and_keeps_what_was_said(
    start: Start, workspace: Path, model_server: ThreadedModelServer, way: str
) -> None:
    mark = f"61.0{way.encode().hex()[:6]}"
    # A program that takes no notice of SIGTERM.
    stubborn = runs(f"trap '' TERM; echo up; sleep {mark}; sleep {mark}")
    model_server.play(lambda _, number: stubborn if number == 1 else runs("touch made"))
    editor = await start()
    first, second = await editor.session(workspace), await editor.session(workspace)
    await editor.turn(first)
    assert await editor.decide(first, "allowOnce")
    await editor.event("tool.output", first)
    await editor.turn(second)
    await editor.event("permission.requested", second)
    started = asyncio.get_running_loop().time()
    if way == "shutdown":
        assert await editor.request("shutdown", seconds=2) is None
        editor.notify("exit")
        code = 0
    elif way == "end of input":
        assert editor.process.stdin
        editor.process.stdin.close()
        code = 1
    else:
        editor.process.send_signal(signal.SIGTERM)
        code = 128 + signal.SIGTERM
    assert await editor.exit_code(2) == code
    assert asyncio.get_running_loop().time() - started < 2
    assert gone(mark)
    assert not (workspace / "made").exists()
    resolved = await editor.event("permission.resolved", second)
    assert (resolved["decision"], resolved["by"]) == ("deny", "shutdown")
    for session_id in (first, second):
        assert (await editor.event("turn.finished", session_id))["stopReason"] == "cancelled"
    after = await start()
    snapshot = await after.load(first)
    assert [(item["kind"], item.get("status")) for item in snapshot["items"]] == [
        ("message", None),
        ("message", None),
        ("toolCall", "cancelled"),
    ]


async def test_killed_it_leaves_no_command_and_the_session_goes_on_elsewhere(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("echo up; sleep 62.0417"), says("Here again.")])
    editor = await start()
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.decide(session_id, "allowSession")
    await editor.event("tool.output", session_id)
    editor.process.kill()
    await editor.exit_code()
    again = await start()
    await again.turn(session_id)
    assert (await again.event("turn.finished", session_id))["stopReason"] == "completed"
    assert gone("62.0417")
    items = (await again.load(session_id))["items"]
    assert [item.get("status") for item in items if item["kind"] == "toolCall"] == ["cancelled"]


async def test_it_does_not_outlive_the_editor_whose_pipe_lives_on(start: Start) -> None:
    editor = await start(initialize=False)
    parent = await asyncio.create_subprocess_exec("sleep", "60")
    await editor.request("initialize", {"processId": parent.pid, "capabilities": {}})
    parent.kill()
    await parent.wait()
    assert await editor.exit_code() == 1


async def test_an_editor_in_another_container_is_not_missed(start: Start) -> None:
    editor = await start(initialize=False)
    await editor.request("initialize", {"processId": 2**22 + 1, "capabilities": {}})
    assert await editor.leave() == 0


async def test_a_reader_that_is_gone_ends_the_server(workspace: Path) -> None:
    reading, writing = os.pipe()
    command_line = [Path(sys.executable).with_name("marvin"), "lsp"]
    process = await asyncio.create_subprocess_exec(
        *command_line, stdin=asyncio.subprocess.PIPE, stdout=writing, cwd=workspace
    )
    os.close(writing)
    os.close(reading)
    assert process.stdin
    process.stdin.write(frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}))
    assert await asyncio.wait_for(process.wait(), SECONDS) == 1


async def test_one_socket_for_both_directions_is_as_good_as_pipes(workspace: Path) -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("marvin"),
        "lsp",
        "--stdio",
        stdin=theirs.fileno(),
        stdout=theirs.fileno(),
        cwd=workspace,
    )
    theirs.close()
    reader, writer = await asyncio.open_connection(sock=ours)
    writer.write(frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}))
    assert (await asyncio.wait_for(reader.readline(), SECONDS)).startswith(b"Content-Length")
    writer.write(frame({"jsonrpc": "2.0", "method": "exit"}))
    assert await asyncio.wait_for(process.wait(), SECONDS) == 1
    writer.close()


async def test_a_report_has_the_log_and_every_message_without_secrets(
    start: Start, workspace: Path, tmp_path: Path, model_server: ThreadedModelServer
) -> None:
    log, record = tmp_path / "a.log", tmp_path / "wire.jsonl"
    editor = await start("--log", log, "--record", record, MY_TOKEN="hunter2-hunter2")
    session_id = await editor.session(workspace)
    await editor.turn(session_id, "My token is hunter2-hunter2")
    await editor.event("turn.finished", session_id)
    editor.send({"jsonrpc": "2.0", "id": 5, "result": "nobody asked"})
    assert await editor.leave() == 0
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["message"] for line in lines if line["from"] == "server"] == [
        json.loads(json.dumps(message).replace("hunter2-hunter2", "***")) for message in editor.messages
    ]
    assert [
        line["message"]["method"] for line in lines if "method" in line["message"] and line["from"] == "client"
    ] == [
        "initialize",
        "initialized",
        "marvin/session/new",
        "marvin/turn/start",
        "shutdown",
        "exit",
    ]
    assert "hunter2" not in record.read_text() + log.read_text()
    (logged,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert (logged["level"], logged["message"]) == ("info", "an answer to no open request was passed over: id 5")


@pytest.mark.parametrize("option", ["--log", "--record"])
async def test_a_file_that_cannot_be_written_is_said_at_once(start: Start, tmp_path: Path, option: str) -> None:
    editor = await start(option, tmp_path / "missing" / "file", initialize=False)
    assert await editor.exit_code() == 2
    assert option in await editor.stderr()


async def test_at_a_terminal_it_says_that_it_is_for_an_editor(workspace: Path, model_environ: dict[str, str]) -> None:
    ours, theirs = os.openpty()
    process = await asyncio.create_subprocess_exec(
        COMMAND, "lsp", stdin=theirs, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd=workspace, env={**os.environ, **model_environ},
    )  # fmt: skip
    os.close(theirs)
    assert process.stderr
    line = (await asyncio.wait_for(process.stderr.readline(), SECONDS)).decode()
    assert line.startswith("marvin lsp is for an editor, which starts it")
    os.write(ours, b"\x04")
    assert await asyncio.wait_for(process.wait(), SECONDS) == 1
    assert await process.stderr.read() == b""
    os.close(ours)
