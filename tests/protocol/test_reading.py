"""What a client has sent is read, or refused with a message that says what to do."""

from typing import Any

import pytest

from marvin_server.errors import UsageError
from marvin_server.protocol.base import FromClient
from marvin_server.protocol.context import SelectionContext, TextInput
from marvin_server.protocol.patches import PatchResolveParams, RejectedHunk
from marvin_server.protocol.permissions import PermissionAnswerParams
from marvin_server.protocol.places import Position, Range
from marvin_server.protocol.reading import read
from marvin_server.protocol.sessions import SessionListParams, SessionLoadParams, SessionUpdateParams
from marvin_server.protocol.turns import TurnStartParams

TEXT = {"type": "text", "text": "Hi"}
LOAD = "Send {sessionId, limit?, before?}, as docs/protocol.md has it."
LIST = "Send {cwd?, query?, cursor?, limit?}, as docs/protocol.md has it."
UPDATE = "Send {sessionId, title?, archived?}, as docs/protocol.md has it."
ANSWER = "Send {permissionId, decision, command?, note?}, as docs/protocol.md has it."
START = "Send {sessionId, input, clientTurnId?, context?, whenBusy?}, as docs/protocol.md has it."


def test_params_become_one_value() -> None:
    place = {"start": {"line": 0, "character": 1}, "end": {"line": 2, "character": 3}}
    context = [{"type": "selection", "uri": "file:///a", "version": 4, "range": place}]
    assert read({"sessionId": "s", "input": [TEXT], "context": context}, TurnStartParams) == TurnStartParams(
        session_id="s",
        input=(TextInput(text="Hi"),),
        context=(
            SelectionContext(
                uri="file:///a",
                version=4,
                range=Range(start=Position(line=0, character=1), end=Position(line=2, character=3)),
            ),
        ),
    )


def test_unknown_keys_are_ignored_and_null_counts_as_left_out() -> None:
    assert read({"sessionId": "s", "limit": None, "_mine": 1, "class": 2}, SessionLoadParams) == SessionLoadParams("s")


@pytest.mark.parametrize(("accept", "expected"), [("all", "all"), (["h1", "h2"], ("h1", "h2"))], ids=["all", "some"])
def test_all_hunks_or_some_are_accepted(accept: Any, expected: Any) -> None:
    params = {"patchId": "p", "accept": accept, "reject": [{"hunkId": "h3", "reason": "no"}]}
    assert read(params, PatchResolveParams) == PatchResolveParams("p", expected, (RejectedHunk("h3", "no"),))


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        (
            SessionLoadParams,
            {},
            f"sessionId: it is missing. {LOAD}",
        ),
        (
            SessionUpdateParams,
            {"sessionId": 3},
            f"sessionId: expected text, got a whole number. {UPDATE}",
        ),
        (
            SessionListParams,
            {"limit": "5"},
            f"limit: expected a whole number, got text. {LIST}",
        ),
        (
            PermissionAnswerParams,
            {"permissionId": "q", "decision": "yes"},
            f"decision: it must be one of allowEdited, allowOnce, allowSession, deny, denyAndStop. {ANSWER}",
        ),
        (TurnStartParams, {"sessionId": "s", "input": "Hi"}, f"input: expected a list, got text. {START}"),
        (TurnStartParams, {"sessionId": "s", "input": [{"text": "Hi"}]}, f"input[0].type: it is missing. {START}"),
        (
            TurnStartParams,
            {"sessionId": "s", "input": [TEXT, {**TEXT, "type": "txt"}]},
            f"input[1].type: it must be one of text, image. {START}",
        ),
        (
            TurnStartParams,
            {"sessionId": "s", "input": [TEXT], "whenBusy": "wait"},
            f"whenBusy: it must be one of queue, reject, steer. {START}",
        ),
        (
            TurnStartParams,
            {
                "sessionId": "s",
                "input": [],
                "context": [{"type": "diagnostics", "uri": "u", "items": [{"message": ""}]}],
            },
            f"context[0].items[0].range: it is missing. {START}",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_there_is(kind: type[FromClient], params: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(params, kind)
    assert str(caught.value) == message
