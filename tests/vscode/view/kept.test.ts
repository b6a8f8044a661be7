// What outlives a reload: the ends of turns, which of them are undone, and drafts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, endsOf, type Kept, received } from "../../../editors/vscode/src/view/state";
import { loaded } from "../../../editors/vscode/src/view/transcript";
import { session } from "../session";
import { empty, finished, NONE, page, prompt, started, tell } from "./telling";

test("the ends of turns outlive a reload of the session, and of the page", () => {
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
