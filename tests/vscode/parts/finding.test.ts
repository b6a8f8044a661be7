import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { install } from "../../../editors/vscode/src/server/install";
import { locate, programs } from "../../../editors/vscode/src/server/locate";

const root = mkdtempSync(join(tmpdir(), "marvin-"));
process.env["HOME"] = root;
let made = 0;

/** A folder with a program `marvin` that answers with this text. */
function folder(says: string, at = join(root, String(++made))): string {
  mkdirSync(at, { recursive: true });
  const path = join(at, "marvin");
  writeFileSync(path, `#!/bin/sh\necho '${says}'\n`);
  chmodSync(path, 0o755);
  return at;
}

const { signal } = new AbortController();
const places = (path: string) => ({
  environ: { PATH: path },
  own: join(root, "own"),
  folders: [],
  signal,
});

test("another product's program of the same name is passed over, and named", async () => {
  const [other, ours] = [folder("usage: marvin say"), folder("usage: marvin lsp [-h]")];
  const found = await locate(places(`${other}:${ours}`));
  assert.deepEqual(found, {
    path: join(ours, "marvin"),
    others: [join(other, "marvin")],
  });
});

test("a program that is in no place is not found", async () => {
  assert.deepEqual(await locate(places(join(root, "nowhere"))), { others: [] });
});

test("a search that is stopped ends at once, whatever a program does", async () => {
  const path = join(folder(""), "marvin");
  writeFileSync(path, "#!/bin/sh\nexec /bin/sleep 600\n");
  const stopped = locate({
    ...places(dirname(path)),
    signal: AbortSignal.timeout(500),
  });
  await assert.rejects(stopped, { name: "TimeoutError" });
});

test("a workspace's environment counts only where it is given", async () => {
  const workspace = join(root, "workspace");
  folder("usage: marvin lsp [-h]", programs(join(workspace, ".venv")));
  assert.equal((await locate(places(""))).path, undefined);
  const found = await locate({ ...places(""), folders: [workspace] });
  assert.equal(found.path, join(programs(join(workspace, ".venv")), "marvin"));
});

test("without Python, installing says what to install", async () => {
  const environment = join(root, "environment");
  const environ = { PATH: join(root, "nowhere") };
  await assert.rejects(
    install(environment, environ, () => undefined, new AbortController().signal),
    /No Python 3\.11 or newer/,
  );
});

test("an installation that fails leaves nothing behind and says why", async () => {
  const environment = join(root, "environment");
  const nothing = { PIP_NO_INDEX: "1", PIP_FIND_LINKS: join(root, "nowhere") };
  const environ = { ...process.env, ...nothing };
  await assert.rejects(
    install(environment, environ, () => undefined, new AbortController().signal),
    /could not be installed: .*marvin-assistant/s,
  );
  assert.ok(!existsSync(environment));
});
