/** The server's process: found, lost and started again. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { test } from "./harness";
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
