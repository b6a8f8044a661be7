/** Adds what the person points at to the next prompt. */
import * as vscode from "vscode";
import type { ContextPieces } from "../context";
import type { Request } from "../shared/messages";

export type ContextKind = Extract<Request, { method: "addContext" }>["params"]["kind"];

/** Throws an Error that says what is missing. */
export async function addContext(pieces: ContextPieces, kind: ContextKind): Promise<void> {
  switch (kind) {
    case "gitDiff":
      return pieces.addDiff();
    case "file":
      for (const uri of (await vscode.window.showOpenDialog({ canSelectMany: true, openLabel: "Add" })) ?? []) {
        await pieces.addFile(uri);
      }
      return;
    case "selection":
      return pieces.addSelection(editor());
    case "buffer":
      return pieces.addBuffer(editor().document);
    case "diagnostics":
      return pieces.addDiagnostics(editor().document.uri);
  }
}

/** The editor that Marvin can see. Throws an Error where there is none, or where it is a cell of a notebook. */
export function editor(): vscode.TextEditor {
  const active = vscode.window.activeTextEditor;
  const scheme = active?.document.uri.scheme;
  if (scheme === "vscode-notebook-cell" || vscode.window.activeNotebookEditor) {
    throw new Error("Marvin does not see the cells of notebooks. Open the file as text, or copy the cell into one.");
  }
  if (!active || (scheme !== "file" && scheme !== "untitled")) {
    throw new Error("Open a file in an editor first.");
  }
  return active;
}
