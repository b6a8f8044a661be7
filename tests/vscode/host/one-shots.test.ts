/** Actions at the code itself, and what goes with a prompt. */
import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import * as vscode from "vscode";
import { NEW_LINE, OLD_DOC, open, path, root, text } from "./basket";
import { test, until } from "./harness";
import { spoken, View } from "./view";

export { run } from "./harness";

interface Repository {
  inputBox: { value: string };
}

test("Fix is a code action where something is wrong, and changes the open file", async () => {
  await View.open();
  const document = await open();
  const line = document.lineAt(7).range;
  const found = vscode.languages.createDiagnosticCollection("tests");
  found.set(document.uri, [new vscode.Diagnostic(line, "total must add")]);
  const fixes = await until("the action", async () => {
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
      "vscode.executeCodeActionProvider",
      document.uri,
      line,
    );
    const ours = actions.filter((action) => /Fix/.test(action.title) && /[Mm]arvin/.test(JSON.stringify(action)));
    return ours.length ? ours : undefined;
  });
  assert.equal(fixes.length, 1, JSON.stringify(fixes));
  const { command, arguments: parameters } = fixes[0]?.command ?? {
    command: "",
    arguments: [],
  };
  await vscode.commands.executeCommand(command, ...((parameters ?? []) as unknown[]));
  await until("the fix", () => (document.getText() === text(OLD_DOC, NEW_LINE) ? true : undefined));
  found.dispose();
});

test("diagnostics go with a prompt when they are asked for", async () => {
  const view = await View.open();
  const document = await open();
  await view.fresh();
  const found = vscode.languages.createDiagnosticCollection("tests");
  found.set(document.uri, [new vscode.Diagnostic(document.lineAt(7).range, "total must add")]);
  await view.request("addContext", { kind: "diagnostics" });
  await view.until("a chip", () => view.told.find((message) => message.type === "chips" && message.chips.length > 0));
  assert.match(spoken(await view.hear("Repeat this")), /total must add/);
  found.dispose();
});

test("the selection goes with a prompt when it is asked for", async () => {
  const view = await View.open();
  await open();
  await view.fresh();
  const editor = vscode.window.activeTextEditor;
  assert.ok(editor);
  editor.selection = new vscode.Selection(5, 0, 6, 0);
  await view.request("addContext", { kind: "selection" });
  assert.match(spoken(await view.hear("Repeat this")), /result = 0/);
});

test("a commit message is put into the box of Source Control, and nothing is committed", async () => {
  await View.open();
  writeFileSync(path, text(OLD_DOC, NEW_LINE));
  const git = await vscode.extensions.getExtension("vscode.git")?.activate();
  const repository = await until("the repository", (): Repository | undefined => git.getAPI(1).repositories[0]);
  const commits = () =>
    execFileSync("git", ["rev-list", "--count", "HEAD"], {
      cwd: root,
      encoding: "utf8",
    });
  const before = commits();
  await vscode.commands.executeCommand("marvin.commitMessage");
  await until("the message", () => (repository.inputBox.value ? true : undefined));
  assert.equal(repository.inputBox.value, "Add prices instead of subtracting them");
  assert.equal(commits(), before);
});

test("pressed twice, the button for a commit message writes none", async () => {
  await View.open();
  const git = await vscode.extensions.getExtension("vscode.git")?.activate();
  const repository: Repository = git.getAPI(1).repositories[0];
  const before = repository.inputBox.value;
  const press = () => vscode.commands.executeCommand("marvin.commitMessage");
  await Promise.all([press(), press()]);
  assert.equal(repository.inputBox.value, before);
});

test("text that is in no file can be talked about", async () => {
  const view = await View.open();
  await view.fresh();
  const untitled = await vscode.workspace.openTextDocument({
    language: "python",
    content: "answer = 42\n",
  });
  await vscode.window.showTextDocument(untitled);
  await view.request("addContext", { kind: "buffer" });
  assert.match(spoken(await view.hear("Repeat this")), /answer = 42/);
});
