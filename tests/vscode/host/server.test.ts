/** The server's process: found, lost and started again. */
import { strict as assert } from "node:assert";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { root } from "./basket";
import { test, until } from "./harness";
import { spoken, View } from "./view";

export { run } from "./harness";

function serverProcess(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ");
  const server = children.find((child) =>
    / lsp /.test(readFileSync(`/proc/${child}/cmdline`, "utf8").replaceAll("\0", " ")),
  );
  assert.ok(server, "no server runs");
  return Number(server);
}

async function comesBack(view: View, how: () => void): Promise<void> {
  const session = view.sessionId;
  const already = view.told.length;
  how();
  const news = () => view.told.slice(already);
  await view.until("the session again", () => news().find((message) => message.type === "loaded"));
  assert.equal(view.sessionId, session);
  assert.match(JSON.stringify(view.snapshot.items), /Before it/);
  assert.equal(spoken(await view.hear("After it")), "You said: After it");
}

test("a server that is killed is started again, with the session as it was", async () => {
  const view = await View.open();
  await view.hear("Before it");
  const killed = serverProcess();
  await comesBack(view, () => process.kill(killed, "SIGKILL"));
  assert.notEqual(serverProcess(), killed);
});

test("a server that is killed in the middle of a turn leaves the text that had come", async () => {
  const view = await View.open();
  await view.say("Slowly please");
  await view.until("text", () => view.events.findLast((event) => event.type === "message.delta"));
  await comesBack(view, () => process.kill(serverProcess(), "SIGKILL"));
});

test("a person can start it anew", async () => {
  const view = await View.open();
  const before = serverProcess();
  await comesBack(view, () => view.post({ type: "restart" }));
  assert.notEqual(serverProcess(), before);
});

test("a prompt that a server got no further with is one turn of the next one", async () => {
  const view = await View.open();
  await view.fresh();
  const killed = serverProcess();
  process.kill(killed, "SIGSTOP");
  const turn = view.say("Just once");
  process.kill(killed, "SIGKILL");
  assert.equal(spoken(await view.finished(await turn)), "You said: Just once");
  await view.request("open", { sessionId: view.sessionId });
  assert.equal(JSON.stringify(view.snapshot.items).split('"Just once"').length, 2);
});

test("a prompt that is sent to a server that has just died is one turn of the next one", async () => {
  const view = await View.open();
  await view.fresh();
  process.kill(serverProcess(), "SIGKILL");
  assert.equal(spoken(await view.hear("Still here?")), "You said: Still here?");
});

test("a workspace's own settings name no program, whoever wrote them", async () => {
  const view = await View.open();
  const running = serverProcess();
  const settings = { "marvin.command": ["/bin/sh", "-c", "touch ran"], "editor.rulers": [7] };
  mkdirSync(join(root, ".vscode"), { recursive: true });
  writeFileSync(join(root, ".vscode", "settings.json"), JSON.stringify(settings));
  await until("the settings", () => {
    const rulers = vscode.workspace.getConfiguration("editor").get<number[]>("rulers");
    return rulers?.includes(7) ? true : undefined;
  });
  assert.equal(serverProcess(), running);
  const session = view.sessionId;
  const already = view.told.length;
  view.post({ type: "restart" });
  await view.until("the session", () => view.told.slice(already).find((message) => message.type === "loaded"));
  assert.equal(view.sessionId, session);
  assert.ok(!existsSync(join(root, "ran")));
});
