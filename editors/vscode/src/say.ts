/** All messages that VS Code shows for Marvin; whatever is in their texts, they are shown as text alone. */
import * as vscode from "vscode";
import { plain } from "./plain";

type Chosen = Thenable<string | undefined>;
type Progress = vscode.Progress<{ message: string }>;

export function inform(text: string, ...actions: string[]): Chosen {
  return vscode.window.showInformationMessage(plain(text), ...actions);
}

export function warn(text: string, ...actions: string[]): Chosen {
  return vscode.window.showWarningMessage(plain(text), ...actions);
}

export function fail(text: string, ...actions: string[]): Chosen {
  return vscode.window.showErrorMessage(plain(text), ...actions);
}

/** Ask in a box that waits for the answer; `lines` stand below the question. Undefined: the person has cancelled. */
export function ask(question: string, lines: readonly string[], ...actions: string[]): Chosen {
  const detail = lines.map(plain).join("\n");
  return vscode.window.showWarningMessage(plain(question), { modal: true, detail }, ...actions);
}

/** Show that work is under way, with a button to cancel it. */
export function during<T>(
  title: string,
  work: (tell: (message: string) => void, token: vscode.CancellationToken) => Thenable<T>,
): Thenable<T> {
  const options = { location: vscode.ProgressLocation.Notification, title: plain(title), cancellable: true };
  return vscode.window.withProgress(options, (progress: Progress, token) =>
    work((message) => progress.report({ message: plain(message) }), token),
  );
}

/** Do it; what goes wrong is shown as a message. Gives undefined then. */
export async function attempt<T>(work: () => Promise<T> | T): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    void fail(`Marvin: ${(error as Error).message}`);
    return undefined;
  }
}
