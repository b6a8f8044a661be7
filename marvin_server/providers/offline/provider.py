"""The provider itself: it chooses a plan for the prompt, and speaks as a model would."""

from collections.abc import AsyncGenerator

from marvin_server.errors import BadRequest
from marvin_server.events import MessageDelta, MessageFinished
from marvin_server.messages import Message, Text, ToolCall, Usage, new_id
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.offline import grammar, intent, searching
from marvin_server.providers.offline.acting import carry_out
from marvin_server.providers.offline.instructions import Unclear
from marvin_server.providers.offline.markdown import code
from marvin_server.providers.offline.question import read_question
from marvin_server.providers.offline.turn import Plan, Turn, advance, read_turn

_ABOUT = """\
I am Marvin's offline provider: no language model, just search and plain instructions, with no network and no key.
I can find where something is in this workspace, show it, and carry out instructions that say exactly what to do:

- `where are the exit codes defined?`
- `replace "colour" with "color" in src/theme.py, then run the tests`
- `create notes/plan.md with "First find the slow query"`

For everything else configure a model: set a key such as OPENAI_API_KEY, or run a local one; `marvin doctor` shows \
what is set and what to do next."""


class Offline:
    """No model: ranked search and plain instructions, carried out by the tools that a request offers.

    It keeps nothing between requests: what to do next follows from the history alone.
    """

    @property
    def name(self) -> str:
        return "offline"

    @property
    def model(self) -> str:
        return "offline"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """The next tool calls, or the answer line by line. Raises ``BadRequest`` when a JSON schema is asked for."""
        if request.output_schema is not None:
            raise BadRequest("the offline provider cannot answer in a JSON schema; choose a model with --provider")
        turn = read_turn(request.history)
        reply = advance(_plan(turn), turn, {tool.name for tool in request.tools})
        message_id = new_id()
        if isinstance(reply, str):
            for line in reply.splitlines(keepends=True):
                yield MessageDelta(message_id, line)
            parts = (Text(reply),)
        else:
            parts = tuple(ToolCall(f"call_{new_id()}", call.name, call.json) for call in reply)
        finish = "stop" if isinstance(reply, str) else "tool_calls"
        yield MessageFinished(
            Message("assistant", parts, message_id, finish, provider=self.name, model=self.model, usage=Usage())
        )

    async def connect(self) -> None:
        """There is nothing to connect to."""

    async def aclose(self) -> None:
        """Nothing is open between requests."""


def _plan(turn: Turn) -> Plan:
    steps = grammar.read_instructions(turn.prompt)
    if isinstance(steps, Unclear):
        return _say(_not_understood(steps))
    if steps is not None:
        return carry_out(steps)
    if intent.is_foreign(turn.prompt):
        return _say(f"I did nothing: I read plain English only.\n\n{_ABOUT}")
    return _look_up(turn)


def _look_up(turn: Turn) -> Plan:
    """The answer to a question, where the workspace can answer it."""
    if intent.is_overview(turn.prompt):
        return searching.overview()
    asked = read_question(turn.prompt, turn.earlier_prompt)
    if intent.is_question(turn.prompt) and asked.paths:
        return searching.explain_file(asked.paths[0], asked)
    if intent.is_question(turn.prompt) and asked.terms:
        return searching.answer(asked)
    return _say(_ABOUT)


def _not_understood(prompt: Unclear) -> str:
    understood = (
        f"I understand {code(prompt.understood[-200:])}, but not" if prompt.understood else "I do not understand"
    )
    return f"{understood} {code(prompt.rest[:200])}, so I did nothing. {prompt.advice}\n\n{_ABOUT}"


def _say(text: str) -> Plan:
    yield from ()
    return text
