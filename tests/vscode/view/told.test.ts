// What events make of a conversation, one after the other.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Permission } from "../../../editors/vscode/src/protocol";
import { received } from "../../../editors/vscode/src/view/state";
import { told } from "../../../editors/vscode/src/view/told";
import { loaded } from "../../../editors/vscode/src/view/transcript";
import { empty, finished, NONE, page, prompt, started, tell } from "./telling";

test("a gap in the sequence asks for a reload, and nothing counts before it", () => {
  const before = loaded({ ...empty, seq: 3 });
  const stale = told(before, {
    sessionId: "s",
    turnId: "t",
    seq: 5,
    events: [started],
  });
  assert.deepEqual(stale, { ...before, isStale: true });
  assert.equal(told(stale, { sessionId: "s", turnId: "t", seq: 4, events: [started] }), stale);
});

test("what was told before, and what is of another session, changes nothing", () => {
  const before = loaded({ ...empty, seq: 3 });
  assert.equal(told(before, { sessionId: "s", turnId: "t", seq: 3, events: [started] }), before);
  assert.equal(
    told(before, {
      sessionId: "other",
      turnId: "t",
      seq: 4,
      events: [started],
    }),
    before,
  );
});

test("deltas grow a message, and its end takes their place", () => {
  let transcript = tell(loaded(empty), started, {
    type: "thought.delta",
    messageId: "a",
    text: "Hm",
  });
  transcript = tell(transcript, {
    type: "message.delta",
    messageId: "a",
    text: "Hel",
  });
  transcript = tell(transcript, {
    type: "message.delta",
    messageId: "a",
    text: "lo",
  });
  assert.deepEqual(transcript.items, [
    { kind: "thought", id: "a", text: "Hm", isWhole: true },
    { kind: "answer", id: "a", text: "Hello", isWhole: false },
  ]);
  transcript = tell(transcript, {
    type: "message.finished",
    message: {
      role: "assistant",
      id: "a",
      parts: [{ type: "text", text: "Hello." }],
    },
  });
  assert.deepEqual(transcript.items.at(-1), {
    kind: "answer",
    id: "a",
    text: "Hello.",
    isWhole: true,
  });
});

test("a question without a tool call leaves a note that says who settled it", () => {
  const permission: Permission = {
    id: "q",
    kind: "trust",
    title: "Trust AGENTS.md",
    reason: "",
    decidedBy: "",
    options: ["allowOnce", "deny"],
    isWhole: true,
  };
  let transcript = tell(loaded(empty), {
    type: "permission.requested",
    permission,
  });
  assert.deepEqual(transcript.questions, [permission]);
  const resolved = {
    type: "permission.resolved",
    permissionId: "q",
    decision: "deny",
    by: "terminal",
  } as const;
  transcript = tell(transcript, resolved);
  assert.deepEqual(transcript.questions, []);
  assert.deepEqual(transcript.items, [
    {
      kind: "note",
      id: "q",
      level: "note",
      text: "Trust AGENTS.md: denied in a terminal",
    },
  ]);
});

const command = { toolCallId: "c", name: "run_command" };

const begun = {
  type: "tool.started",
  ...command,
  title: "make",
  kind: "execute",
  input: {},
  locations: [] as string[],
} as const;

test("a server that is lost ends its turn with a word, and what had come stays, also when the session is read anew", () => {
  const delta = { type: "message.delta", messageId: "a", text: "Half an ans" } as const;
  let state = page(started, { type: "message.finished", message: prompt }, begun, delta);
  state = received(state, { type: "connection", connection: { state: "starting", message: "" } });
  const item = { kind: "message" as const, id: "u", createdAt: "", turnId: "t", message: prompt };
  const shown = () =>
    state.transcript?.items.flatMap((each) =>
      each.kind === "answer" ? [each.text, each.isWhole] : each.kind === "end" ? [each.stopReason, each.error] : [],
    );
  const wanted = ["Half an ans", true, "failed", "The server ended during this turn. What had arrived is kept."];
  assert.deepEqual(shown(), wanted);
  assert.equal(state.transcript?.turnId, undefined);
  state = received(state, { type: "loaded", snapshot: { ...empty, items: [item] }, draft: NONE });
  assert.deepEqual(shown(), wanted);
});

test("a turn whose command was denied has changed nothing, and one whose command ran may have", () => {
  const ended = (status: "ok" | "denied") => {
    const over = { type: "tool.finished", ...command, status, durationMs: 1, output: "", details: {} } as const;
    return page(started, begun, over, finished).transcript?.items.at(-1);
  };
  const end = { kind: "end", id: "t", stopReason: "completed" };
  assert.deepEqual(ended("denied"), { ...end, hasChanges: false });
  assert.deepEqual(ended("ok"), { ...end, hasChanges: true });
});

test("what Marvin tells the model in the person's place is a note, and no prompt", () => {
  const text = "[Marvin: the person took back your changes.\nRead them again.]";
  const state = page({ type: "message.finished", message: { ...prompt, parts: [{ type: "text", text }] } });
  assert.deepEqual(state.transcript?.items, [
    {
      kind: "note",
      id: "u",
      level: "note",
      text: "The model is told: the person took back your changes.\nRead them again.",
    },
  ]);
});
