/** A workspace of two folders: the shop, and its suppliers. */
import { strict as assert } from "node:assert";
import * as vscode from "vscode";
import { forsake, run as runAll, test, until } from "./harness";
import { View } from "./view";

/** A window on a `.code-workspace` that VS Code does not know yet may come up without its folders, and stay so. */
export function run(): Promise<void> {
  return bothFolders(15).then(runAll, forsake);
}

function bothFolders(seconds?: number): Promise<readonly vscode.WorkspaceFolder[]> {
  const folders = () =>
    vscode.workspace.workspaceFolders?.length === 2 ? vscode.workspace.workspaceFolders : undefined;
  return until("two folders", folders, seconds);
}

test("one server serves both folders, and a session works in one of them", async () => {
  const folders = await bothFolders();
  const view = await View.open();
  assert.ok(folders.some((folder) => folder.uri.fsPath === view.snapshot.session.cwd));
  const turn = await view.say("Run pwd");
  const { id, command } = await view.question();
  assert.equal(command?.cwd, view.snapshot.session.cwd);
  await view.request("answer", { permissionId: id, decision: "deny" });
  await view.finished(turn);
});

test("what a file of another folder is asked for is done in that folder", async () => {
  const towels = (await bothFolders()).find((folder) => folder.name === "suppliers");
  assert.ok(towels);
  const view = await View.open();
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(towels.uri, "towels.txt"));
  await vscode.window.showTextDocument(document);
  await vscode.commands.executeCommand("marvin.explain");
  await view.until("a session there", () => (view.snapshot.session.cwd === towels.uri.fsPath ? true : undefined));
  const found = await view.request("complete", {
    sessionId: view.sessionId,
    text: "@tow",
    cursor: 4,
  });
  assert.deepEqual(
    found.map((item) => item.label),
    ["towels.txt"],
  );
});

test("the sessions of both folders are listed, and of no other", async () => {
  const folders = (await bothFolders()).map(({ uri }) => uri.fsPath);
  const view = await View.open();
  const { sessions } = await view.request("sessions", { query: "" });
  assert.deepEqual(new Set(sessions.map(({ cwd }) => cwd)), new Set(folders));
  const times = sessions.map(({ updatedAt }) => updatedAt);
  assert.deepEqual(times, [...times].sort().reverse());
});
