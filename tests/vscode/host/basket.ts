/** The file that the model changes: open in an editor, with its first text. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { until } from "./harness";

export const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
export const path = join(root, "shop", "basket.py");
export const OLD_DOC = '    """The sum of all prices, in cents."""\n';
export const NEW_DOC = '    """The sum of all prices.\n\n    In cents."""\n';
export const OLD_LINE = "        result -= price\n";
export const NEW_LINE = "        result += price\n";
const first = readFileSync(path, "utf8");

/** Opens it as it was at the start of the suite; gives its document. */
export async function open(): Promise<vscode.TextDocument> {
  const editor = await vscode.window.showTextDocument(vscode.Uri.file(path));
  await vscode.commands.executeCommand("workbench.action.files.revert");
  writeFileSync(path, first);
  await until("the first text", () => (editor.document.getText() === first ? true : undefined));
  return editor.document;
}

/** Its first text, with these parts instead of the old ones. */
export function text(documentation: string, line: string): string {
  return first.replace(OLD_DOC, documentation).replace(OLD_LINE, line);
}
