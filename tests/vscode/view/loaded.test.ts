// What a view shows of a session that is loaded, and of its older pages.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Compacted, SessionLoadResult } from "../../../editors/vscode/src/protocol";
import { loaded, type Transcript, withOlder } from "../../../editors/vscode/src/view/transcript";
import { compacted, sizes } from "../../../editors/vscode/src/view/words";
import { empty, finished, prompt, started, tell } from "./telling";

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
