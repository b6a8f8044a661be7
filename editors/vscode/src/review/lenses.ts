/** Keep and Reject above each open hunk. */
import * as vscode from "vscode";
import { rangeOf } from "./decorations";
import type { Review } from "./review";

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly registration: vscode.Disposable;

  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(private readonly review: Review) {
    // Not before the event is there: VS Code looks for it once.
    this.registration = vscode.languages.registerCodeLensProvider({ scheme: "file" }, this);
  }

  refresh(): void {
    this.changed.fire();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const placed = this.review.placed(document);
    return placed.flatMap((one, index) => {
      const range = rangeOf(one, document);
      const ids = [one.open.patch.id, one.hunk.id];
      const lens = (title: string, command: string, args: unknown[]) =>
        new vscode.CodeLens(range, { title, command, arguments: args });
      const what = one.open.isProposed ? "Marvin proposes this" : "Marvin changed this";
      return [
        lens("Keep", "marvin.keepHunk", ids),
        lens("Reject", "marvin.rejectHunk", ids),
        lens("Reject with a reason…", "marvin.rejectHunkWithReason", ids),
        lens(`${what} (${index + 1} of ${placed.length})`, "marvin.openChange", [one.open.patch.id, one.edit.path]),
      ];
    });
  }

  dispose(): void {
    this.registration.dispose();
  }
}
