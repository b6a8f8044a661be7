import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type {
  Compacted,
  Permission,
  Session,
  SessionLoadResult,
  TurnEventsParams,
} from "../../../editors/vscode/src/protocol";
import { begin, endsOf, type Kept, received, type State } from "../../../editors/vscode/src/view/state";
import { told } from "../../../editors/vscode/src/view/told";
import { loaded, type Transcript, withOlder } from "../../../editors/vscode/src/view/transcript";
import { compacted, sizes } from "../../../editors/vscode/src/view/words";

const session: Session = {
  id: "s",
  title: "",
  cwd: "/workspace",
  mode: "auto",
  model: "m",
  createdAt: "",
  updatedAt: "",
  busy: false,
};
const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const NONE = { text: "", pictures: [], at: 0 };
const empty: SessionLoadResult = {
  session,
  items: [],
  seq: 0,
  openPermissions: [],
  pendingPatches: [],
  queued: [],
  drafts: [],
};

/** All notifications of a recorded transcript, and the session that they are of. */
function recorded(name: string): {
  session: Session;
  notifications: TurnEventsParams[];
} {
  const file = join(process.env["TRANSCRIPTS"] ?? "", `${name}.jsonl`);
  const messages = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).message);
  return {
    session: messages.find((message) => message.id === 2 && message.result).result.session,
    notifications: messages.filter((each) => each.method === "marvin/turn/events").map((each) => each.params),
  };
}

function played(name: string): Transcript {
  const { session, notifications } = recorded(name);
  return notifications.reduce(told, loaded({ ...empty, session }));
}

function tell(transcript: Transcript, ...events: TurnEventsParams["events"]): Transcript {
  return told(transcript, {
    sessionId: "s",
    turnId: "t",
    seq: transcript.seq + 1,
    events,
  });
}

const started = {
  type: "turn.started",
  turnId: "t",
  sessionId: "s",
  provider: "p",
  model: "m",
} as const;
const finished = {
  type: "turn.finished",
  turnId: "t",
  stopReason: "completed",
  usage,
} as const;

test("a chat shows the prompt without its context, the thought, the answer and the end", () => {
  const { items, turnId } = played("chat");
  assert.equal(turnId, undefined);
  assert.deepEqual(
    items.map((item) => [item.kind, "text" in item ? item.text : ""]),
    [
      ["prompt", "What does shop.py do?"],
      ["thought", "Let me think."],
      ["answer", "Hello, wörld! 🌍"],
      ["end", ""],
    ],
  );
  const [prompt] = items;
  assert.ok(prompt?.kind === "prompt");
  assert.deepEqual(
    prompt.context.map(({ label }) => label),
    ["All of shop.py"],
  );
  assert.match(prompt.context[0]?.text ?? "", /^All of shop\.py:\n```\ndef total/);
});

test("a tool call says how its question was settled, and how it ended", () => {
  const { items, questions } = played("question");
  const tool = items.find((item) => item.kind === "tool");
  assert.deepEqual(questions, []);
  assert.ok(tool?.kind === "tool");
  assert.equal(tool.title, "echo 2 passed");
  assert.equal(tool.status, "ok");
  assert.equal(tool.answer, "allowed once");
  assert.equal(tool.output, "2 passed\n[exit code 0]");
});

test("a question that was denied and stopped the turn leaves its words", () => {
  const { items } = played("denied");
  const [tool, end] = [items.find((item) => item.kind === "tool"), items.at(-1)];
  assert.ok(tool?.kind === "tool" && tool.answer === "denied, and the turn stopped" && tool.status === "denied");
  assert.ok(end?.kind === "end" && end.stopReason === "denied");
});

test("a patch that was applied is kept when it is resolved", () => {
  const { items } = played("patch");
  const change = items.find((item) => item.kind === "change");
  assert.ok(change?.kind === "change");
  assert.equal(change.isProposed, false);
  assert.deepEqual(Object.values(change.decided), [true]);
  const end = items.at(-1);
  assert.ok(end?.kind === "end" && end.hasChanges);
});

test("a proposed patch that is rejected stays proposed, with what was rejected", () => {
  const change = played("review").items.find((item) => item.kind === "change");
  assert.ok(change?.kind === "change");
  assert.equal(change.isProposed, true);
  assert.deepEqual(Object.values(change.decided), [false]);
});

test("a failed turn says what to do", () => {
  const end = played("failed").items.at(-1);
  assert.ok(end?.kind === "end" && end.stopReason === "failed");
  assert.match(end.error ?? "", /OpenAI-compatible/);
});

test("what an interrupted message had said stays", () => {
  const { items } = played("cancelled");
  assert.deepEqual(
    items.map((item) => item.kind),
    ["prompt", "answer", "end"],
  );
});

test("an item that an event does not touch stays the same object", () => {
  const { session, notifications } = recorded("worked");
  let transcript = loaded({ ...empty, session });
  for (const params of notifications) {
    const before = transcript;
    transcript = told(transcript, params);
    const same = before.items.filter((item) => transcript.items.includes(item));
    assert.ok(same.length >= before.items.length - 1);
  }
});

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

test("a loaded session shows the message that is being written and the patches that wait", () => {
  const patch = { id: "p", title: "edit", toolCallId: "c", edits: [] };
  const stored = {
    createdAt: "",
    name: "apply_patch",
    input: { path: "a.py" },
  };
  const { items } = loaded({
    ...empty,
    turnId: "t",
    items: [
      { kind: "toolCall", id: "c", status: "running", ...stored },
      { kind: "toolCall", id: "d", status: "ok", output: "Done.", ...stored },
    ],
    pendingPatches: [patch],
    partial: { messageId: "a", text: "So", thought: "Hm" },
  });
  assert.deepEqual(
    items.map((item) => [item.kind, item.id]),
    [
      ["tool", "c"],
      ["change", "p"],
      ["tool", "d"],
      ["thought", "a"],
      ["answer", "a"],
    ],
  );
  assert.ok(items[1]?.kind === "change" && items[1].isProposed);
  assert.ok(items[2]?.kind === "tool" && items[2].title === "apply_patch a.py");
});

test("older items come before those that are there", () => {
  const item = (id: string): SessionLoadResult["items"][number] => ({
    kind: "message",
    id,
    createdAt: "",
    message: { role: "user", id, parts: [{ type: "text", text: id }] },
  });
  const transcript = withOlder(loaded({ ...empty, items: [item("new")], cursor: "old" }), [item("old")], undefined);
  assert.deepEqual(
    transcript.items.map(({ id }) => id),
    ["old", "new"],
  );
  assert.ok(!("cursor" in transcript));
});

test("the ends of turns outlive a reload of the session, and of the page", () => {
  const prompt = {
    role: "user" as const,
    id: "u",
    parts: [{ type: "text" as const, text: "Hi" }],
  };
  const before = tell(loaded(empty), started, { type: "message.finished", message: prompt }, finished);
  const snapshot = {
    ...empty,
    items: [
      {
        kind: "message" as const,
        id: "u",
        createdAt: "",
        turnId: "t",
        message: prompt,
      },
    ],
  };
  const kept: Kept = {
    sessionId: "s",
    draft: { text: "typed", pictures: [], at: 2 },
    whenBusy: "steer",
    ends: endsOf(before),
  };
  const state = received(begin(kept), { type: "loaded", snapshot, draft: NONE }, kept);
  assert.deepEqual(
    state.transcript?.items.map((item) => item.kind),
    ["prompt", "end"],
  );
  assert.equal(state.draft.text, "typed");
  assert.equal(state.whenBusy, "steer");
  const again = received(state, { type: "loaded", snapshot, draft: NONE });
  assert.deepEqual(again.transcript?.items, state.transcript?.items);
});

test("each stored turn that is over can be undone where a tool may have changed files", () => {
  const message = (id: string, turnId: string) => ({
    kind: "message" as const,
    id,
    turnId,
    createdAt: "",
    message: {
      role: "user" as const,
      id,
      parts: [{ type: "text" as const, text: id }],
    },
  });
  const call = {
    kind: "toolCall" as const,
    id: "c",
    turnId: "1",
    createdAt: "",
    name: "run",
    input: {},
  };
  const page = [message("b", "1"), message("d", "2"), message("e", "3")];
  const now = loaded({ ...empty, turnId: "3", items: page, cursor: "b" });
  const shown = ({ items }: Transcript) =>
    items.map((item) => (item.kind === "end" ? [item.id, item.hasChanges] : item.id));
  assert.deepEqual(shown(now), ["b", ["1", false], "d", ["2", false], "e"]);
  const older = withOlder(now, [message("a", "1"), { ...call, status: "ok" }], undefined);
  assert.deepEqual(shown(older), ["a", "c", "b", ["1", true], "d", ["2", false], "e"]);
});

test("a prompt that waits is told by the snapshot until its turn begins, or is taken back", () => {
  const message = {
    role: "user" as const,
    id: "u",
    parts: [{ type: "text" as const, text: "Then" }],
  };
  const snapshot = { ...empty, queued: [{ turnId: "t", message }] };
  assert.deepEqual(loaded(snapshot).queued, snapshot.queued);
  assert.deepEqual(tell(loaded(snapshot), started).queued, []);
  assert.deepEqual(tell(loaded(snapshot), finished).queued, []);
});

test("of what the page and its host kept of a draft, the later one is shown", () => {
  const shown = (host: number) => {
    const kept: Kept = { sessionId: "s", draft: { text: "page", pictures: [], at: 2 }, whenBusy: "queue", ends: [] };
    const draft = { text: "host", pictures: [], at: host };
    return received(begin(kept), { type: "loaded", snapshot: empty, draft }, kept).draft.text;
  };
  assert.deepEqual([shown(1), shown(2), shown(3)], ["page", "page", "host"]);
});

test("another session brings its own draft", () => {
  const picture = { mimeType: "image/png", data: "AAAA", name: "shot.png" };
  let state = received(begin(undefined), {
    type: "loaded",
    snapshot: empty,
    draft: { text: "first", pictures: [], at: 1 },
  });
  state = received(state, {
    type: "loaded",
    snapshot: { ...empty, session: { ...session, id: "z" } },
    draft: { text: "second", pictures: [picture], at: 1 },
  });
  assert.deepEqual(state.draft, { text: "second", pictures: [picture] });
});

/** A page that shows a session in which these were told. */
function page(...events: TurnEventsParams["events"]): State {
  const params = { sessionId: "s", turnId: "t", seq: 1, events };
  const shown = received(begin(undefined), { type: "loaded", snapshot: empty, draft: NONE });
  return received(shown, { type: "events", events: params });
}

const prompt = { role: "user" as const, id: "u", parts: [{ type: "text" as const, text: "Hi" }] };
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

test("which turns are taken back is told by the host, and outlives the page", () => {
  const state = received(page(started, finished), { type: "undone", sessionId: "s", turnIds: ["t"] });
  assert.deepEqual(
    endsOf(state.transcript).map(({ isUndone }) => isUndone),
    [true],
  );
  const again = received(state, { type: "undone", sessionId: "s", turnIds: ["t"] });
  assert.equal(again.transcript, state.transcript);
  const redone = received(again, { type: "undone", sessionId: "s", turnIds: [] });
  assert.deepEqual(
    endsOf(redone.transcript).map(({ isUndone }) => isUndone),
    [false],
  );
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

test("a summary stands where it came, told or loaded, and what a command says is one note", () => {
  const compaction: Compacted = {
    type: "compaction",
    id: "c",
    message: { ...prompt, id: "c", parts: [{ type: "text", text: "Jokes.", label: "Summary of earlier messages" }] },
    replaced: 42,
    tokensBefore: 31_000,
    tokensAfter: 4_200,
    reason: "person",
  };
  const items: SessionLoadResult["items"] = [
    { kind: "message", id: "u", createdAt: "", turnId: "t", message: prompt },
    { kind: "compaction", id: "c", createdAt: "", parentId: "u", compaction },
  ];
  const stored = loaded({ ...empty, items }).items;
  assert.deepEqual(
    stored.map(({ kind }) => kind),
    ["prompt", "end", "compaction"],
  );
  const told = tell(
    loaded({ ...empty, items: items.slice(0, 1) }),
    compaction,
    { type: "turn.started", turnId: "t2", sessionId: "s", provider: "p", model: "m" },
    { type: "notice", level: "note", text: "block  tokens" },
    { type: "notice", level: "note", text: "rules     239" },
    { type: "notice", level: "warning", text: "and more" },
  ).items;
  assert.deepEqual(told.slice(0, 3), stored);
  assert.deepEqual(
    told.slice(3).map((item) => item.kind === "note" && [item.level, item.text]),
    [
      ["note", "block  tokens\nrules     239"],
      ["warning", "and more"],
    ],
  );
  assert.equal(compacted(compaction), "42 earlier messages summarised");
  assert.equal(sizes(compaction), "31,000 → 4,200 tokens");
});
