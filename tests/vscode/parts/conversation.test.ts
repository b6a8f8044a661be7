import assert from "node:assert/strict";
import { test } from "node:test";
import { Conversation } from "../../../editors/vscode/src/conversation";
import type { Event, Hunk, Patch, Permission } from "../../../editors/vscode/src/protocol";
import { session, usage } from "../session";

const permission: Permission = {
  id: "q",
  kind: "network",
  title: "fetch",
  reason: "",
  decidedBy: "",
  options: ["deny"],
  isWhole: true,
};
const hunk = (id: string): Hunk => ({
  id,
  oldStart: 1,
  oldLines: [],
  newStart: 1,
  newLines: [],
});
const patch: Patch = {
  id: "p",
  title: "",
  edits: [
    {
      kind: "update",
      path: "a",
      uri: "file:///a",
      hunks: [hunk("1"), hunk("2")],
    },
  ],
};

function told(...events: Event[]): Conversation {
  const conversation = new Conversation(session);
  events.forEach((event, index) =>
    assert.ok(
      conversation.take({
        sessionId: "s",
        turnId: "t",
        seq: index + 1,
        events: [event],
      }),
    ),
  );
  return conversation;
}

test("a gap is noticed, and what is known already changes nothing", () => {
  const conversation = told({ type: "permission.requested", permission });
  assert.ok(!conversation.take({ sessionId: "s", turnId: "t", seq: 3, events: [] }));
  assert.ok(
    conversation.take({
      sessionId: "s",
      turnId: "t",
      seq: 1,
      events: [{ type: "permission.requested", permission }],
    }),
  );
  assert.deepEqual(conversation.permissions, [permission]);
});

test("a question is open until it is settled, or the server has ended", () => {
  const settled = {
    type: "permission.resolved",
    permissionId: "q",
    decision: "deny",
    by: "editor",
  } as const;
  assert.deepEqual(told({ type: "permission.requested", permission }, settled).permissions, []);
  const lost = told({ type: "permission.requested", permission });
  lost.lose();
  assert.deepEqual(lost.permissions, []);
});

test("a summary that is being written is work of this server, until the server has ended", () => {
  const conversation = new Conversation({ ...session, busy: true, activity: "summarising" });
  assert.deepEqual([conversation.work, conversation.isBusy], ["summarising", true]);
  conversation.lose();
  assert.deepEqual([conversation.work, conversation.isBusy], [undefined, false]);
});

test("a patch waits until its last hunk is decided on", () => {
  const conversation = told({ type: "patch.applied", patch });
  conversation.decide("p", ["1"]);
  assert.deepEqual(conversation.patches[0]?.patch.edits[0]?.hunks, [hunk("2")]);
  conversation.decide("p", ["2"]);
  assert.deepEqual(conversation.patches, []);
});

test("a proposed patch that is applied is one patch", () => {
  const conversation = told({ type: "patch.proposed", patch }, { type: "patch.applied", patch });
  assert.deepEqual(conversation.patches, [{ patch, isProposed: false }]);
});

test("the turn that ended last is the one that can be undone", () => {
  const conversation = told(
    {
      type: "turn.started",
      turnId: "t",
      sessionId: "s",
      provider: "",
      model: "",
    },
    { type: "turn.finished", turnId: "t", stopReason: "completed", usage },
  );
  assert.deepEqual([conversation.turnId, conversation.finished], [undefined, ["t"]]);
  conversation.turned("undo", "t");
  assert.deepEqual([conversation.finished, conversation.undone], [[], ["t"]]);
});
