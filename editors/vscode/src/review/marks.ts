/** Keeps what marks open hunks in the editors up to date, and no more often than it must. */
import * as vscode from "vscode";
import type { Conversations } from "../conversations";
import { BeforeSide } from "./before";
import { Decorations } from "./decorations";
import { Lenses } from "./lenses";
import { uriOf, type Review } from "./review";

export class Marks implements vscode.Disposable {
  private readonly decorations: Decorations;
  private readonly lenses: Lenses;
  private readonly before: BeforeSide;
  private readonly subscriptions: vscode.Disposable[];
  private shown = "";

  constructor(
    private readonly review: Review,
    conversations: Conversations,
  ) {
    this.decorations = new Decorations(review);
    this.lenses = new Lenses(review);
    this.before = new BeforeSide(review);
    this.subscriptions = [
      this.decorations,
      this.lenses,
      this.before,
      conversations.onChanged(() => this.refresh()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.decorations.refresh()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.decorations.refresh()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (review.isWaitingIn(document.uri)) {
          this.mark();
        }
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  /** Mark anew where other hunks wait than before. */
  private refresh(): void {
    const { hunks } = this.review;
    const shown = JSON.stringify(hunks.map(({ open, hunk }) => [open.patch.id, open.isProposed, hunk.id]));
    if (shown !== this.shown) {
      this.shown = shown;
      this.mark();
      const files = hunks.map((one) => uriOf(one).fsPath);
      void vscode.commands.executeCommand("setContext", "marvin.filesToReview", files);
    }
  }

  private mark(): void {
    [this.decorations, this.lenses, this.before].forEach((each) => each.refresh());
  }
}
