/** Marks open hunks in the editors: their lines, and beside them what stood there, or what would. */
import * as vscode from "vscode";
import { fenced } from "../plain";
import { sides } from "./placing";
import type { Placed, Review } from "./review";

const LONGEST = 100;

function lineDecoration(background: string, ruler: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(background),
    overviewRulerColor: new vscode.ThemeColor(ruler),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
}

export class Decorations implements vscode.Disposable {
  private readonly added = lineDecoration("diffEditor.insertedLineBackground", "editorOverviewRuler.addedForeground");
  private readonly proposed = lineDecoration(
    "diffEditor.removedLineBackground",
    "editorOverviewRuler.modifiedForeground",
  );
  private readonly beside = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground"), fontStyle: "italic", margin: "0 0 0 2em" },
  });

  constructor(private readonly review: Review) {}

  refresh(): void {
    vscode.window.visibleTextEditors.forEach((editor) => this.mark(editor));
  }

  dispose(): void {
    [this.added, this.proposed, this.beside].forEach((each) => each.dispose());
  }

  private mark(editor: vscode.TextEditor): void {
    const placed = isInDiff(editor) ? [] : this.review.placed(editor.document);
    const lines = (isProposed: boolean) =>
      placed
        .filter(({ open, place }) => open.isProposed === isProposed && place.count > 0)
        .map((one) => ({ range: rangeOf(one, editor.document), hoverMessage: hover(one, editor.document) }));
    editor.setDecorations(this.added, lines(false));
    editor.setDecorations(this.proposed, lines(true));
    editor.setDecorations(
      this.beside,
      placed
        .filter((one) => sides(one.hunk, one.open.isProposed).there.length > 0)
        .map((one) => ({
          range: editor.document.lineAt(rangeOf(one, editor.document).start.line).range,
          // Where there are lines, these show it.
          ...(one.place.count === 0 && { hoverMessage: hover(one, editor.document) }),
          renderOptions: { after: { contentText: words(one) } },
        })),
    );
  }
}

/** Whether the editor is a side of a diff editor, which marks what is different by itself. */
function isInDiff({ document, viewColumn }: vscode.TextEditor): boolean {
  const uri = document.uri.toString();
  return vscode.window.tabGroups.all.some(
    ({ activeTab, viewColumn: column }) =>
      activeTab?.input instanceof vscode.TabInputTextDiff &&
      [activeTab.input.original, activeTab.input.modified].some((side) => side.toString() === uri) &&
      (viewColumn === undefined || viewColumn === column),
  );
}

/** The lines of a hunk; of one without lines, the line that the others would come before. */
export function rangeOf({ place }: Placed, document: vscode.TextDocument): vscode.Range {
  const first = Math.min(place.first, document.lineCount - 1);
  const last = Math.min(place.first + Math.max(place.count, 1) - 1, document.lineCount - 1);
  return new vscode.Range(first, 0, last, document.lineAt(last).text.length);
}

/** The other side in one line. */
function words({ hunk, open, place }: Placed): string {
  const { there } = sides(hunk, open.isProposed);
  const only = there.length === 1 && there[0]!.trim();
  if (only) {
    const text = [...only]
      .slice(0, LONGEST)
      .join("")
      .replace(/[\p{C}\u2028\u2029]/gu, "␣");
    return `${open.isProposed ? "proposed" : "was"}: ${text}${only.length > LONGEST ? "…" : ""}`;
  }
  const lines = there.length === 1 ? "1 line" : `${there.length} lines`;
  if (open.isProposed) {
    return `proposed: ${lines}${place.count === 0 ? " above" : ""}`;
  }
  return place.count === 0 ? `${lines} removed above` : `was: ${lines}`;
}

function hover({ hunk, open }: Placed, document: vscode.TextDocument): vscode.MarkdownString {
  const { there } = sides(hunk, open.isProposed);
  if (there.length === 0) {
    return new vscode.MarkdownString(open.isProposed ? "Marvin proposes to remove this." : "Added by Marvin.");
  }
  const title = open.isProposed ? "Marvin proposes:" : "Before Marvin's change:";
  return new vscode.MarkdownString(`${title}\n\n${fenced(there, document.languageId)}`);
}
