"""The prompt loop: prompts, queueing, steering, stopping, questions and what is kept."""

import asyncio
import signal
from functools import partial
from pathlib import Path

from marvin_cli.repl.loop import Start
from marvin_cli.view.base import Reply

from marvin_server.events import ToolFinished
from marvin_server.messages import ToolResult
from tests.cli.repl.conftest import Open
from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, runs, says

RUN = Call("run_command", '{"command": "echo made > made.txt"}')


async def test_a_prompt_argument_is_submitted_first_and_then_the_loop_goes_on(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One."), says("Two.")])
    opened = await terminal(Start("first"))
    await opened.view.turns(1)
    opened.view.enter("second")
    await opened.view.turns(2)
    assert [line for line in opened.view.lines if line.startswith("> ")] == ["> first", "> second"]
    assert opened.view.answers == ["One.", "Two."]
    assert opened.view.standings[-1].messages == 4
    assert opened.view.standings[-1].busy == ""


async def test_a_prompt_that_is_entered_while_a_turn_runs_waits_and_is_shown(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One.", gated=True), says("Two.")])
    opened = await terminal()
    opened.view.enter("first", "second")
    await opened.view.until(lambda: opened.view.standings[-1].queued == ("second",))
    assert "> second" not in opened.view.lines
    model_server.release(10)
    await opened.view.turns(2)
    assert opened.view.lines.index("> second") > opened.view.lines.index("> first")
    assert opened.view.standings[-1].queued == ()


async def test_steering_reaches_the_running_turn(terminal: Open, model_server: ThreadedModelServer) -> None:
    model_server.play([calls(RUN), says("Both done.")])
    opened = await terminal()
    opened.view.enter("run it")
    await opened.view.until(lambda: opened.view.asked)
    opened.view.enter("and say hello", steers=True)
    await opened.view.until(lambda: opened.view.standings[-1].queued == ("and say hello",))
    opened.view.replies.put_nowait(Reply("allow_once"))
    await opened.view.turns(1)
    assert [line for line in opened.view.lines if line.startswith("> ")] == ["> run it", "> and say hello"]
    assert "and say hello" in str(model_server.requests[1].json["messages"][-1]["content"])


async def test_interrupting_cancels_the_turn_and_keeps_what_arrived(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Partly ", "said.", stall_after=2)])
    opened = await terminal()
    opened.view.enter("go")
    await opened.view.until(lambda: opened.view.streamed)
    opened.view.interrupt()
    (end,) = await opened.view.turns(1)
    assert end.stop_reason == "cancelled"
    assert opened.view.answers[-1].startswith("Partly")
    assert opened.view.standings[-1].busy == ""


async def test_two_interrupts_in_a_row_at_an_empty_prompt_leave(terminal: Open) -> None:
    opened = await terminal()
    opened.view.interrupt("half a thought")
    opened.view.interrupt()
    await opened.view.said("Ctrl+C once more leaves")
    opened.view.interrupt()
    await opened.left()
    assert opened.person.profile.history.entries() == ["half a thought"]


async def test_a_question_is_put_and_the_answer_runs_the_command(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(RUN), says("Done.")])
    opened = await terminal()
    opened.view.enter("make it")
    (asked,) = await opened.view.until(lambda: opened.view.asked)
    assert asked.command.display == "echo made > made.txt"
    opened.view.replies.put_nowait(Reply("allow_once"))
    await opened.view.turns(1)
    assert (workspace / "made.txt").read_text() == "made\n"


async def test_a_no_with_a_note_reaches_the_model(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(RUN), says("Fine.")])
    opened = await terminal()
    opened.view.enter("make it")
    await opened.view.until(lambda: opened.view.asked)
    opened.view.replies.put_nowait(Reply("deny", note="use touch"))
    await opened.view.turns(1)
    assert not (workspace / "made.txt").exists()
    assert "use touch" in str(model_server.requests[1].json["messages"])


async def test_stopping_while_a_question_is_open_takes_it_away(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(RUN), says("Fine.")])
    opened = await terminal()
    opened.view.enter("make it")
    await opened.view.until(lambda: opened.view.asked)
    opened.view.interrupt()
    (end,) = await opened.view.turns(1)
    assert end.stop_reason == "cancelled"
    assert not (workspace / "made.txt").exists()


async def test_what_waits_when_the_terminal_closes_is_a_draft_that_can_be_taken_back(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Never done.", stall_after=1)])
    opened = await terminal()
    opened.view.enter("first", "second")
    await asyncio.to_thread(model_server.wait_for_request)
    await opened.view.until(lambda: opened.view.standings[-1].queued == ("second",))
    session_id = opened.loop.conversation.session.id
    opened.view.end("third, not entered")
    await opened.view.turns(1)
    again = await terminal(Start(resume=session_id))
    assert again.person.profile.history.entries()[-1] == "third, not entered"
    again.view.enter("/queue")
    assert "draft  second" in await again.view.said("1. draft")
    again.view.enter("/queue take 1")
    await again.view.until(lambda: again.view.drafts == ["second"])
    assert not again.loop.conversation.store.drafts.left(session_id)


async def test_a_prompt_that_is_on_its_way_when_the_person_leaves_is_a_draft(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One."), says("Never said.")])
    opened = await terminal()
    opened.view.enter("first")
    await opened.view.turns(1)
    session_id = opened.loop.conversation.session.id
    opened.view.enter("second", "third")
    opened.view.end()
    await opened.left()
    again = await terminal(Start(resume=session_id))
    store = again.loop.conversation.store
    kept = [*store.history(session_id), *(draft.message for draft in store.drafts.left(session_id))]
    assert [message.text for message in kept if message.role == "user"] == ["first", "second", "third"]


async def test_a_session_that_goes_on_shows_what_was_said(terminal: Open, model_server: ThreadedModelServer) -> None:
    model_server.play([calls(Call("tree", '{"path": "."}')), says("Empty.")])
    opened = await terminal(Start("look"))
    await opened.view.turns(1)
    session_id = opened.loop.conversation.session.id
    assert any(
        isinstance(part, ToolResult) for m in opened.loop.conversation.store.history(session_id) for part in m.parts
    )
    again = await terminal(Start(latest=True))
    assert again.loop.conversation.session.id == session_id
    assert "> look" in again.view.lines
    assert again.view.answers[-1] == "Empty."
    assert [event.type for event in again.view.events].count("tool.finished") == 1


async def test_a_terminal_in_which_nothing_was_said_leaves_no_session(terminal: Open) -> None:
    opened = await terminal()
    store, session_id = opened.loop.conversation.store, opened.loop.conversation.session.id
    opened.view.enter("/clear")
    await opened.view.until(lambda: opened.loop.conversation.session.id != session_id)
    assert [record.id for record in store.sessions()] == [opened.loop.conversation.session.id]


async def test_lines_from_a_pipe_are_taken_one_after_the_other(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One."), says("Two.")])
    opened = await terminal(in_order=True)
    opened.view.enter("first", "/usage", "second")
    await opened.view.turns(2)
    usage = await opened.view.said("Total: 1 request")
    assert usage
    assert opened.person.profile.history.entries() == []


async def test_outside_of_coding_mode_a_turn_has_ten_rounds(terminal: Open, model_server: ThreadedModelServer) -> None:
    numbers = iter(range(100))
    model_server.play(lambda _body, _number: calls(Call("tree", f'{{"path": ".", "depth": {next(numbers) + 1}}}')))
    opened = await terminal(Start("look around"))
    (end,) = await opened.view.turns(1)
    assert (end.stop_reason, len(model_server.requests)) == ("round_limit", 11)


async def test_the_bar_says_how_full_the_context_is(
    terminal: Open, home: Path, model_server: ThreadedModelServer
) -> None:
    config = home / "marvin" / "config"
    config.mkdir(parents=True)
    (config / "config.yaml").write_text("models:\n  test-model: {context: 1000, input: 1, output: 1}\n")
    opened = await terminal(Start("hello"), coding=True)
    await opened.view.turns(1)
    size, standing = (
        1000,
        await opened.view.until(
            lambda: next((each for each in opened.view.standings if each.context and each.context[0]), None)
        ),
    )
    assert standing.context[1] == size
    assert standing.flags == ("coding",)
    assert (opened.view.standings[-1].cost_usd or 0) > 0


async def test_a_call_that_waited_for_an_answer_when_it_was_stopped_has_done_nothing(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("echo 1 > made"), says("never")])
    opened = await terminal(Start("go"))
    await opened.view.until(lambda: opened.view.asked)
    opened.view.interrupt()
    (ended,) = await opened.view.until(lambda: [e for e in opened.view.events if isinstance(e, ToolFinished)])
    assert (ended.status, ended.output) == ("cancelled", "Cancelled before it began; nothing was done.")


async def test_what_another_terminal_does_in_the_session_is_told_and_shown(
    terminal: Open, marvin: Marvin, workspace: Path, model_environ: dict[str, str], model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One."), says("Two, ", "and more.", stall_after=2), says("Three."), says("Four.")])
    opened = await terminal(Start("first"))
    await opened.view.turns(1)
    words = ("--non-interactive", "--resume", opened.loop.conversation.session.id, "--prompt")
    other = marvin.start(*words, "from elsewhere", env=model_environ, cwd=workspace)
    await opened.view.until(lambda: opened.view.standings[-1].busy == "another terminal is answering")
    await asyncio.to_thread(model_server.wait_for_request, 2)
    other.send_signal(signal.SIGINT)
    await opened.view.said("> from elsewhere")
    await opened.view.until(lambda: not opened.view.standings[-1].busy)
    assert (await asyncio.to_thread(other.wait)).exit_code == 130
    done = await asyncio.to_thread(partial(marvin, *words, "once more", env=model_environ, cwd=workspace))
    assert done.exit_code == 0
    opened.view.enter("last")
    await opened.view.turns(2)
    prompts = [line for line in opened.view.lines if line.startswith("> ")]
    assert prompts == ["> first", "> from elsewhere", "> once more", "> last"]
    assert opened.view.answers[-2:] == ["Three.", "Four."]
    assert opened.view.standings[-1].messages == opened.loop.conversation.record.messages


async def test_of_much_that_was_missed_it_is_said_how_much_more_there_is(
    terminal: Open, workspace: Path, marvin: Marvin, model_environ: dict[str, str], model_server: ThreadedModelServer
) -> None:
    looks = [calls(Call("read_file", f'{{"path": "{number}.txt"}}')) for number in range(15)]
    model_server.play([says("One."), *looks, says("Looked.")])
    opened = await terminal()
    opened.view.enter("first")
    await opened.view.turns(1)
    words = ("--non-interactive", "--resume", opened.loop.conversation.session.id, "--prompt")
    done = await asyncio.to_thread(partial(marvin, *words, "look", env=model_environ, cwd=workspace))
    assert done.exit_code == 0
    opened.view.enter("and now?")
    await opened.view.said("more messages (/export has them all)")
    await opened.view.turns(2)
