/** Keep and Reject above each open hunk. */
import * as vscode from "vscode";
import { rangeOf } from "./decorations";
import type { Review } from "./review";

/** VS Code asks a moment after it was told, and not at all when the editor loses the focus meanwhile: it is told again. */
const AGAIN_MS = 1000;
const MOST_TIMES = 10;

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly registration: vscode.Disposable;
  /** Documents that VS Code was given lenses for. */
  private readonly given = new Set<string>();
  /** Documents whose lenses it has not asked for since the last change. */
  private stale = new Set<string>();
  private again: NodeJS.Timeout | undefined;

  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(private readonly review: Review) {
    // Not before the event is there: VS Code looks for it once.
    this.registration = vscode.languages.registerCodeLensProvider({ scheme: "file" }, this);
  }

  refresh(): void {
    const shown = vscode.window.visibleTextEditors.map(({ document }) => document);
    const concerned = shown.filter(({ uri }) => this.given.has(uri.toString()) || this.review.isWaitingIn(uri));
    this.stale = new Set(concerned.map(({ uri }) => uri.toString()));
    this.tell(MOST_TIMES);
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const placed = this.review.placed(document);
    const key = document.uri.toString();
    this.stale.delete(key);
    this.given[placed.length > 0 ? "add" : "delete"](key);
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
    clearTimeout(this.again);
    this.registration.dispose();
  }

  private tell(times: number): void {
    clearTimeout(this.again);
    this.changed.fire();
    if (this.stale.size > 0 && times > 1) {
      this.again = setTimeout(() => this.stale.size > 0 && this.tell(times - 1), AGAIN_MS);
    }
  }
}
