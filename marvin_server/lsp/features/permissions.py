"""``marvin/permission/answer``: a person's answer to a question."""

from typing import TYPE_CHECKING, Any

from marvin_server.errors import NotOffered
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.errors import Code
from marvin_server.protocol.permissions import DECISIONS, PermissionAnswerParams, PermissionAnswerResult
from marvin_server.protocol.reading import read
from marvin_server.protocol.wire import camel

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server


async def answer(server: "Server", params: dict[str, Any]) -> PermissionAnswerResult:
    """Settle a question of this process or of another; ``accepted`` is false when another answer came first, or the
    question is gone. Raises ``Refusal`` for a decision that the question does not take."""
    asked = read(params, PermissionAnswerParams)
    if (asked.decision == "allowEdited") != bool(asked.command):
        raise Refusal(Code.INVALID_PARAMS, "allowEdited needs the command to run, and nothing else takes one")
    decision = DECISIONS[asked.decision]
    note = asked.note if asked.note and asked.note.strip() else None
    questions = server.sessions.store.questions
    try:
        for live in server.sessions.all:
            session = live.opened.session if live.opened else None
            if session and session.answer(asked.permission_id, decision, command=asked.command, note=note):
                return PermissionAnswerResult(True)
        return PermissionAnswerResult(
            questions.answer(asked.permission_id, decision, "editor", asked.command, note),
        )
    except NotOffered as error:
        taken = ", ".join(map(camel, error.options))
        text = f"decision: this question takes {taken}, not {asked.decision}"
        raise Refusal(Code.INVALID_PARAMS, text) from None
