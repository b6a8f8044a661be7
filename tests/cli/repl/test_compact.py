"""``/compact`` while it works: what is seen of it, what is typed meanwhile, and how it is stopped."""

import asyncio

from marvin_cli.repl.loop import Start

from tests.cli.repl.conftest import Open, Terminal
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says

LONG = says("It is the calendar. " * 100)


async def talk(terminal: Terminal, server: ThreadedModelServer) -> None:
    """Say enough that something can go, and have the model write a summary that takes until the server is told."""
    server.play([*[LONG] * 6, says("## Task\nCalendars.", gated=True), says("Five.")])
    for number in range(6):
        terminal.view.enter(f"question {number}")
        await terminal.view.turns(number + 1)


def stood(terminal: Terminal) -> list[tuple[str, tuple[str, ...]]]:
    """What ran and what waited, each time that this was said."""
    return [(standing.busy, standing.queued) for standing in terminal.view.standings]


async def test_while_a_summary_is_written_the_bar_says_so_and_a_prompt_waits(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    opened = await terminal()
    await talk(opened, model_server)
    opened.view.enter("/compact", "how many?")
    await opened.view.until(lambda: ("summarising", ("how many?",)) in stood(opened))
    await asyncio.to_thread(model_server.wait_for_request, 7)
    model_server.release(100)
    await opened.view.turns(7)
    assert opened.view.answers[-1] == "Five."
    assert stood(opened)[-1] == ("", ())
    await opened.view.said("earlier messages were summarised by test-model")


async def test_stopping_a_summary_says_so_and_what_was_typed_meanwhile_is_answered(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    opened = await terminal()
    await talk(opened, model_server)
    opened.view.enter("/compact", "how many?")
    await opened.view.until(lambda: stood(opened)[-1][1])
    await asyncio.to_thread(model_server.wait_for_request, 7)
    opened.view.interrupt()
    await opened.view.said("note: [Cancelled]")
    await opened.view.turns(7)
    assert opened.view.answers[-1] == "Five."
    assert "summarised by" not in str(opened.view.lines)


async def test_a_prompt_that_still_waits_when_the_person_leaves_is_a_draft(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    opened = await terminal()
    await talk(opened, model_server)
    opened.view.enter("/compact", "how many?", "/help")
    await opened.view.until(lambda: stood(opened)[-1][1] == ("how many?", "/help"))
    session_id = opened.loop.conversation.session.id
    opened.view.end()
    await opened.left()
    again = await terminal(Start(resume=session_id))
    again.view.enter("/queue")
    assert "draft  how many?" in await again.view.said("1. draft")
    assert len(again.loop.conversation.store.drafts.left(session_id)) == 1
