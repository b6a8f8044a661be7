/** What becomes of the model's changes in an editor. */
import { strict as assert } from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { NEW_DOC, NEW_LINE, OLD_DOC, OLD_LINE, open, path, root, text } from "./basket";
import { test, until } from "./harness";
import { View } from "./view";

export { run } from "./harness";

async function lens(document: vscode.TextDocument, title: RegExp, line: RegExp): Promise<vscode.Command> {
  return until(`the lens ${title.source} at ${line.source}`, async () => {
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
      "vscode.executeCodeLensProvider",
      document.uri,
      100,
    );
    const near = lenses.filter((one) => line.test(document.lineAt(one.range.start.line).text));
    return near.find((one) => title.test(one.command?.title ?? ""))?.command;
  });
}

async function press(document: vscode.TextDocument, title: RegExp, line: RegExp): Promise<void> {
  const { command, arguments: parameters } = await lens(document, title, line);
  await vscode.commands.executeCommand(command, ...((parameters ?? []) as unknown[]));
}

function becomes(document: vscode.TextDocument, wanted: string): Promise<true> {
  return until(`the text\n${wanted}\nbut it is\n${document.getText()}`, () =>
    document.getText() === wanted ? true : undefined,
  );
}

test("a patch in an open file is one undo step, and unsaved", async () => {
  const view = await View.open();
  const document = await open();
  await view.hear("Improve it");
  assert.equal(document.getText(), text(NEW_DOC, NEW_LINE));
  assert.ok(document.isDirty);
  assert.equal(readFileSync(path, "utf8"), text(OLD_DOC, OLD_LINE));
  await vscode.commands.executeCommand("undo");
  await becomes(document, text(OLD_DOC, OLD_LINE));
  await vscode.commands.executeCommand("redo");
  await becomes(document, text(NEW_DOC, NEW_LINE));
});

test("each hunk is kept or rejected by its lens, also after the person has typed above it", async () => {
  const view = await View.open();
  const document = await open();
  await view.fresh();
  await view.hear("Improve it");
  const typed = new vscode.WorkspaceEdit();
  typed.insert(document.uri, new vscode.Position(0, 0), "# typed\n");
  await vscode.workspace.applyEdit(typed);
  await press(document, /^(\$\([\w-]+\) )?Reject$/, /result \+= price/);
  await becomes(document, `# typed\n${text(NEW_DOC, OLD_LINE)}`);
  await press(document, /^(\$\([\w-]+\) )?Keep$/, /The sum of all prices\./);
  await view.until("both decisions", () => {
    const resolved = view.events.filter((event) => event.type === "patch.resolved");
    return resolved.some((event) => event.kept.length) && resolved.some((event) => event.rejected.length);
  });
  assert.equal(document.getText(), `# typed\n${text(NEW_DOC, OLD_LINE)}`);
});

test("in mode review a file is changed only by what is kept", async () => {
  const view = await View.open();
  const document = await open();
  await view.fresh();
  await view.request("setOption", {
    sessionId: view.sessionId,
    name: "mode",
    value: "review",
  });
  const turn = await view.say("Improve it");
  const proposed = await view.until("the proposal", () => view.events.find((event) => event.type === "patch.proposed"));
  assert.equal(document.getText(), text(OLD_DOC, OLD_LINE));
  const [documentation, line] = proposed.patch.edits[0]?.hunks ?? [];
  assert.ok(documentation && line);
  await press(document, /^(\$\([\w-]+\) )?Keep$/, /result -= price/);
  const reject = [{ hunkId: documentation.id, reason: "too long" }];
  await view.request("resolve", {
    patchId: proposed.patch.id,
    accept: [],
    reject,
  });
  await view.finished(turn);
  await becomes(document, text(OLD_DOC, NEW_LINE));
});

test("a turn is undone and done again as a whole", async () => {
  const view = await View.open();
  const document = await open();
  await view.fresh();
  const turnId = await view.say("Improve it");
  await view.finished(turnId);
  const undone = await view.request("undo", {
    sessionId: view.sessionId,
    turnId,
  });
  assert.deepEqual([undone.applied, undone.failed], [["shop/basket.py"], []]);
  await becomes(document, text(OLD_DOC, OLD_LINE));
  await view.request("redo", { sessionId: view.sessionId, turnId });
  await becomes(document, text(NEW_DOC, NEW_LINE));
});

test("a command that is to run sees what Marvin wrote, and a person's own unsaved text stays unsaved", async () => {
  const view = await View.open();
  const document = await open();
  await view.fresh();
  await view.hear("Fix it");
  const allow = async (turn: string) => {
    const { id } = await view.question();
    await view.request("answer", { permissionId: id, decision: "allowOnce" });
    await view.finished(turn);
  };
  await allow(await view.say("Run cp shop/basket.py seen"));
  assert.equal(readFileSync(join(root, "seen"), "utf8"), text(OLD_DOC, NEW_LINE));
  const typed = new vscode.WorkspaceEdit();
  typed.insert(document.uri, new vscode.Position(0, 0), "# mine\n");
  await vscode.workspace.applyEdit(typed);
  await allow(await view.say("Run cp shop/basket.py seen-again"));
  assert.ok(document.isDirty && existsSync(join(root, "seen-again")));
  assert.equal(readFileSync(join(root, "seen-again"), "utf8"), text(OLD_DOC, NEW_LINE));
});
