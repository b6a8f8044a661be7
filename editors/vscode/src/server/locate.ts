/** Where Marvin's program is: what the settings name, else what is installed. */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const WINDOWS = process.platform === "win32";
const EXECUTABLE = WINDOWS ? "marvin.exe" : "marvin";
const SECONDS = 20;

/** The folder of a Python environment that has its programs. */
export function programs(environment: string): string {
  return join(environment, WINDOWS ? "Scripts" : "bin");
}

export interface Places {
  /** The server's environment, with its PATH. */
  environ: NodeJS.ProcessEnv;
  /** The environment that the extension has made itself. */
  own: string;
  /** Folders of the workspace; none unless the workspace is trusted, since a program of theirs would be run. */
  folders: readonly string[];
  /** Looks no further when it is aborted. */
  signal: AbortSignal;
}

export interface Located {
  /** The full path of Marvin's program; undefined when there is none. */
  path?: string;
  /** Programs by this name that are something else. */
  others: string[];
}

/** The first program that says that it is Marvin, out of PATH and the places where installers put it. Throws when aborted. */
export async function locate(places: Places): Promise<Located> {
  const home = homedir();
  const share = join(home, ".local", "share");
  const folders = [
    ...(places.environ["PATH"] ?? places.environ["Path"] ?? "").split(delimiter).filter(Boolean),
    join(home, ".local", "bin"),
    ...["pipx/venvs", "uv/tools"].map((tools) => programs(join(share, tools, "marvin-assistant"))),
    programs(join(home, ".local", "pipx", "venvs", "marvin-assistant")),
    programs(places.own),
    ...places.folders.map((folder) => programs(join(folder, ".venv"))),
  ];
  const others: string[] = [];
  for (const folder of new Set(folders)) {
    const path = join(folder, EXECUTABLE);
    if (!(await isExecutable(path))) {
      continue;
    }
    if (await isMarvin(path, places)) {
      return { path, others };
    }
    places.signal.throwIfAborted();
    others.push(path);
  }
  return { others };
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Whether the program answers as Marvin does: another distribution has a command of the same name. */
function isMarvin(path: string, { environ, signal }: Places): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(path, ["lsp", "--help"], { env: environ, timeout: SECONDS * 1000, signal }, (error, stdout) =>
      resolve(!error && stdout.includes("usage: marvin lsp")),
    );
  });
}
