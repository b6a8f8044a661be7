/** Installs Marvin for the extension alone, in a Python environment of its own. */
import { execFile, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { programs } from "./locate";

/** Never `marvin`, which is another product. */
const DISTRIBUTION = "marvin-assistant";
const NAMES = ["python3", "python3.13", "python3.12", "python3.11", "python", "py"];
const SUPPORTED = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/**
 * Make `environment` (a folder, replaced when it is there) and install Marvin in it; `log` gets the output. Gives the
 * path of the program. Throws an Error that says what to do; one that was cancelled leaves no environment.
 */
export async function install(
  environment: string,
  environ: NodeJS.ProcessEnv,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const python = await findPython(environ);
  const bin = programs(environment);
  try {
    await run(python, ["-m", "venv", "--clear", environment], environ, log, signal);
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", DISTRIBUTION];
    await run(join(bin, "python"), pip, environ, log, signal);
  } catch (error) {
    await rm(environment, { recursive: true, force: true });
    throw error;
  }
  return join(bin, "marvin");
}

async function findPython(environ: NodeJS.ProcessEnv): Promise<string> {
  for (const name of NAMES) {
    const fits = await new Promise<boolean>((resolve) =>
      execFile(name, ["-c", SUPPORTED], { env: environ, timeout: 10_000 }, (error) => resolve(!error)),
    );
    if (fits) {
      return name;
    }
  }
  throw new Error(
    "No Python 3.11 or newer with venv was found. Install one (on Debian and Ubuntu: python3 and python3-venv) and try again.",
  );
}

function run(
  program: string,
  args: string[],
  environ: NodeJS.ProcessEnv,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  log(`${program} ${args.join(" ")}`);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: environ, signal, stdio: ["ignore", "pipe", "pipe"] });
    let last = "";
    const heard = (chunk: Buffer) => {
      const text = chunk.toString().trimEnd();
      last = text.split("\n").at(-1) || last;
      log(text);
    };
    child.stdout.on("data", heard);
    child.stderr.on("data", heard);
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`Marvin could not be installed: ${last || `exit code ${code}`}`)),
    );
  });
}
