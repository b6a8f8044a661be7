/** The other side of a file with open hunks, as a read-only document for the diff editor. */
import * as vscode from "vscode";
import { linesOf, otherSide } from "./placing";
import { uriOf, type Review } from "./review";

const SCHEME = "marvin-review";

/** What the file was, or with proposed hunks would be. */
export function before(uri: vscode.Uri): vscode.Uri {
  return uri.with({ scheme: SCHEME, query: uri.toString() });
}

/** What is left of a file that was deleted. */
export function nothing(uri: vscode.Uri): vscode.Uri {
  return uri.with({ scheme: SCHEME, query: "" });
}

/** The file that a document of a review is about; any other document's is its own. */
export function fileOf(uri: vscode.Uri): vscode.Uri {
  return uri.scheme === SCHEME ? vscode.Uri.file(uri.path) : uri;
}

export class BeforeSide implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registration: vscode.Disposable;

  readonly onDidChange = this.changed.event;

  constructor(private readonly review: Review) {
    // Not before the event is there: VS Code looks for it once.
    this.registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  /** The hunks, or a text, have changed. */
  refresh(): void {
    vscode.workspace.textDocuments
      .filter(({ uri }) => uri.scheme === SCHEME)
      .forEach(({ uri }) => this.changed.fire(uri));
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    if (!uri.query) {
      return "";
    }
    const hunks = this.review.hunks
      .filter((one) => uriOf(one).toString() === uri.query)
      .map(({ hunk, open }) => ({ hunk, isProposed: open.isProposed }));
    const text = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri.query)).then(
      (document) => document.getText(),
      () => "",
    );
    return otherSide(linesOf(text), hunks).join("\n");
  }

  dispose(): void {
    this.registration.dispose();
  }
}
