import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hunk } from "../../../editors/vscode/src/protocol";
import { linesOf, otherSide, placeOf } from "../../../editors/vscode/src/review/placing";

const hunk = (change: Partial<Hunk>): Hunk => ({
  id: "h",
  oldStart: 2,
  oldLines: ["old\n"],
  newStart: 2,
  newLines: ["new\n"],
  ...change,
});

test("a hunk is found where its lines have moved to, and nowhere when they are gone", () => {
  assert.deepEqual(placeOf(hunk({}), false, ["typed", "typed", "a", "new", "b"]), { first: 3, count: 1 });
  assert.equal(placeOf(hunk({}), false, ["a", "newer", "b"]), undefined);
});

test("of lines that are there several times, the nearest are meant", () => {
  assert.deepEqual(placeOf(hunk({ newStart: 4 }), false, ["new", "a", "b", "c", "new"]), { first: 4, count: 1 });
});

test("a proposed hunk is where its old lines are", () => {
  assert.deepEqual(placeOf(hunk({}), true, ["a", "old", "new"]), {
    first: 1,
    count: 1,
  });
});

test("line ends of any kind count as the same", () => {
  assert.deepEqual(placeOf(hunk({ newLines: ["new\r\n"] }), false, linesOf("a\r\nnew\r\nb")), { first: 1, count: 1 });
});

test("removed lines are put back where they were, also at the end", () => {
  const removed = hunk({ newLines: [], newStart: 3 });
  assert.deepEqual(otherSide(["a", "b"], [{ hunk: removed, isProposed: false }]), ["a", "b", "old"]);
});

test("the other side has all made hunks undone and all proposed ones made", () => {
  const made = hunk({
    id: "1",
    newStart: 1,
    newLines: ["one\n", "two\n"],
    oldLines: ["one and two\n"],
  });
  const proposed = hunk({
    id: "2",
    oldStart: 4,
    oldLines: ["four\n"],
    newLines: [],
  });
  const hunks = [
    { hunk: made, isProposed: false },
    { hunk: proposed, isProposed: true },
  ];
  assert.deepEqual(otherSide(["one", "two", "three", "four", "five"], hunks), ["one and two", "three", "five"]);
});
