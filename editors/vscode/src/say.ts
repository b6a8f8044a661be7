/** Where errors end that nobody else takes: the person is told. */
import * as vscode from "vscode";

/** Do it; what goes wrong is shown as a message. Gives undefined then. */
export async function attempt<T>(work: () => Promise<T> | T): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    void vscode.window.showErrorMessage(`Marvin: ${(error as Error).message}`);
    return undefined;
  }
}
