/** Runs a suite inside the extension host: its tests one after the other, and a report beside the suite's bundle. */
import { writeFileSync } from "node:fs";

const SECONDS = 60;
const tests: [string, () => Promise<void>][] = [];

/** Adds a test; its name is a sentence about behaviour. */
export function test(name: string, body: () => Promise<void>): void {
  tests.push([name, body]);
}

/** Waits until `found` gives something; by default at most a minute, which a loaded machine may need. */
export async function until<T>(
  what: string,
  found: () => T | undefined | Promise<T | undefined>,
  seconds = SECONDS,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await found();
    if (value !== undefined) {
      return value;
    }
    if (Date.now() > end) {
      throw new Error(`not seen within ${seconds} s: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What VS Code calls: one test after the other, each bounded. The report has for each test "ok", or what went wrong. */
export async function run(): Promise<void> {
  const report = Object.fromEntries(tests.map(([name]) => [name, "it did not end"]));
  write(report);
  for (const [name, body] of tests) {
    report[name] = await Promise.race([body(), endless()]).then(
      () => "ok",
      (problem: unknown) => (problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)),
    );
    write(report);
  }
  finish(report);
}

/** Leaves the report beside the bundle, and says on the console that it is there. */
export function finish(report: Record<string, string>): void {
  write(report);
  console.log("The suite has ended.");
}

/** Asks on the console for another window: VS Code has opened this one without what the suite is about. */
export function forsake(): void {
  console.log("This window will not do.");
}

async function endless(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, 2 * SECONDS * 1000));
  throw new Error(`it did not end within ${2 * SECONDS} s`);
}

function write(report: Record<string, string>): void {
  writeFileSync(`${__filename}.report`, JSON.stringify(report));
}
