/** Not a suite: measures how long the extension takes to activate. */
import * as vscode from "vscode";
import { finish } from "./harness";

export async function run(): Promise<void> {
  const extension = vscode.extensions.getExtension("marvin-assistant.marvin");
  if (!extension || extension.isActive) {
    finish({
      problem: extension ? "it is active already" : "it is not installed",
    });
    return;
  }
  const started = performance.now();
  await extension.activate();
  finish({ ms: String(performance.now() - started) });
}
