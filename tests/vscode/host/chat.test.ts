/** Turns: what is said, asked, cancelled and shown again. */
import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { test, until } from "./harness";
import { spoken, stopReason, View } from "./view";

export { run } from "./harness";

const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";

test("a prompt is answered, and the session has its words as title", async () => {
  const view = await View.open();
  assert.equal(spoken(await view.hear("Good morning")), "You said: Good morning");
  await view.until("the title", () =>
    view.told.find((message) => message.type === "session" && message.session.title === "Good morning"),
  );
});

test("a picture needs no words, and what was asked with it alone is no new session", async () => {
  const view = await View.open();
  await view.fresh();
  const sessionId = view.sessionId;
  const pictures = [{ mimeType: "image/png", data: "iVBORw0=", name: "shot.png" }];
  const { turnId } = await view.request("send", { sessionId, text: "", pictures, whenBusy: "queue" });
  assert.equal(spoken(await view.finished(turnId)), "You said:");
  await view.request("new", {});
  assert.notEqual(view.sessionId, sessionId);
});

test("a command runs once it is allowed, with exactly what was shown", async () => {
  const view = await View.open();
  await view.fresh();
  const turn = await view.say("Run touch allowed");
  const { id, command, options } = await view.question();
  assert.deepEqual([command?.display, command?.cwd], ["touch allowed", root]);
  assert.ok(options.includes("allowSession"));
  assert.ok(!existsSync(join(root, "allowed")));
  assert.deepEqual(await view.request("answer", { permissionId: id, decision: "allowOnce" }), { accepted: true });
  assert.equal(stopReason(await view.finished(turn)), "completed");
  assert.ok(existsSync(join(root, "allowed")));
  assert.deepEqual(await view.request("answer", { permissionId: id, decision: "deny" }), { accepted: false });
});

test("a command that is denied does not run", async () => {
  const view = await View.open();
  const turn = await view.say("Run touch denied");
  const { id } = await view.question();
  await view.request("answer", {
    permissionId: id,
    decision: "deny",
    note: "not here",
  });
  const events = await view.finished(turn);
  assert.ok(events.some((event) => event.type === "tool.finished" && event.status === "denied"));
  assert.ok(!existsSync(join(root, "denied")));
});

test("a question goes with its turn, denied", async () => {
  const view = await View.open();
  const turn = await view.say("Run touch cancelled");
  await view.question();
  await view.request("cancel", { sessionId: view.sessionId, turnId: turn });
  assert.equal(stopReason(await view.finished(turn)), "cancelled");
  assert.ok(!existsSync(join(root, "cancelled")));
});

test("a cancelled answer keeps what had come", async () => {
  const view = await View.open();
  await view.fresh();
  const turn = await view.say("Slowly please");
  await view.until("a delta", () => view.events.findLast((event) => event.type === "message.delta"));
  await view.request("cancel", { sessionId: view.sessionId });
  const events = await view.finished(turn);
  assert.equal(stopReason(events), "cancelled");
  await view.request("open", { sessionId: view.sessionId });
  await until("the kept text", () => (JSON.stringify(view.snapshot.items).includes("word0") ? true : undefined));
});

test("sessions are listed, searched, renamed and forked", async () => {
  const view = await View.open();
  await view.fresh();
  await view.hear("An improbable prompt");
  const parent = view.sessionId;
  const found = await view.request("sessions", { query: "improbable" });
  assert.deepEqual(
    found.sessions.map((session) => session.id),
    [parent],
  );
  await view.request("rename", { sessionId: parent, title: "Infinite" });
  await view.request("fork", { sessionId: parent });
  await view.until("the fork", () => (view.snapshot.session.parentId === parent ? true : undefined));
  assert.match(JSON.stringify(view.snapshot.items), /An improbable prompt/);
});

test("a prompt that is sent while a turn runs waits for its end", async () => {
  const view = await View.open();
  await view.fresh();
  const first = await view.say("Slowly please");
  const params = {
    sessionId: view.sessionId,
    text: "And then",
    pictures: [],
    whenBusy: "queue" as const,
  };
  const second = await view.request("send", params);
  assert.equal(second.state, "queued");
  await view.request("cancel", { sessionId: view.sessionId, turnId: first });
  assert.equal(spoken(await view.finished(second.turnId)), "You said: And then");
});

test("each session keeps what was typed, pasted and added for it", async () => {
  const view = await View.open();
  await view.fresh();
  await view.hear("The first");
  const first = view.sessionId;
  const picture = { mimeType: "image/png", data: "AAAA", name: "shot.png" };
  view.post({ type: "draft", sessionId: first, text: "half a tho", at: 1, pictures: [picture] });
  await view.request("addContext", { kind: "gitDiff" });
  const chips = () => {
    const last = view.told.findLast((message) => message.type === "chips");
    return last?.chips.map(({ label }) => label);
  };
  const draft = () => view.told.findLast((message) => message.type === "loaded")?.draft;
  assert.deepEqual(chips(), ["changes"]);
  await view.request("new", {});
  assert.notEqual(view.sessionId, first);
  assert.deepEqual([draft(), chips()], [{ text: "", at: 0, pictures: [] }, []]);
  await view.request("open", { sessionId: first });
  assert.deepEqual([draft(), chips()], [{ text: "half a tho", at: 1, pictures: [picture] }, ["changes"]]);
});

test("text is inserted into the last editor that can be written in", async () => {
  const view = await View.open();
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(join(root, "shop", "basket.py")));
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.One });
  const other = await vscode.workspace.openTextDocument(vscode.Uri.parse("marvin-review:/basket.py"));
  await vscode.window.showTextDocument(other, { viewColumn: vscode.ViewColumn.Two });
  view.post({ type: "insertAtCursor", text: "# inserted" });
  await until("the text", () => (document.getText().includes("# inserted") ? true : undefined));
  await until("its editor", () => (vscode.window.activeTextEditor?.document === document ? true : undefined));
});
