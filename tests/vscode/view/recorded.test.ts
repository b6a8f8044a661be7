// What a view shows of the recorded transcripts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Session, TurnEventsParams } from "../../../editors/vscode/src/protocol";
import { told } from "../../../editors/vscode/src/view/told";
import { loaded, type Transcript } from "../../../editors/vscode/src/view/transcript";
import { empty } from "./telling";

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
