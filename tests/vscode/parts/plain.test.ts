import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import MarkdownIt from "markdown-it";
import { fenced, isExact, plain } from "../../../editors/vscode/src/plain";

test("no part of a message is a link, and what hides is seen", () => {
  assert.equal(plain("[x](command:a) b\u202ec\n d\u0007"), "[x] (command:a) b\\u{202e}c d\\u{7}");
});

test("a box shows a line exactly unless it has links, hidden characters, or spaces that it swallows", () => {
  for (const line of ["git log --stat", "echo 'ä 日本'", "cmd $(x) [a] (b)"]) {
    assert.ok(isExact(line), line);
  }
  for (const line of ["a  b", " a", "a ", "a\tb", "a\u00a0b", "a\u202eb", "[a](b)", "a\nb"]) {
    assert.ok(!isExact(line), JSON.stringify(line));
  }
});

test("text of others stays in its fence, however many backticks it has, and wherever", () => {
  const lines = ["   ```", "![x](https://example.com/x.png)", "~~~", "````````", "<img src=x>"];
  const tokens = new MarkdownIt().parse(fenced(lines, "python"), {});
  assert.deepEqual(
    tokens.map(({ type, content }) => [type, content]),
    [["fence", `${lines.join("\n")}\n`]],
  );
});

test("every message goes through the one place that shows it as text", () => {
  const found = execFileSync("grep", ["-rlE", "show(Information|Warning|Error)Message", process.env["SOURCE"] ?? ""]);
  assert.deepEqual(
    found
      .toString()
      .trim()
      .split("\n")
      .map((path) => path.split("/src/")[1]),
    ["say.ts"],
  );
});
