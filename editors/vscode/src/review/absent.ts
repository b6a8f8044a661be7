/** Tells the chat which changes are not in their files any more, which the server does not know. */
import * as vscode from "vscode";
import type { Chat } from "../chat/chat";
import type { Conversations } from "../conversations";
import type { Review } from "./review";

export class Absent implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private told = "[]";

  constructor(
    private readonly review: Review,
    private readonly chat: Chat,
    conversations: Conversations,
  ) {
    this.subscriptions = [
      // What is loaded knows of none.
      conversations.onLoaded(() => (this.told = "[]")),
      conversations.onChanged(() => this.tell()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => review.isWaitingIn(document.uri) && this.tell()),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  private tell(): void {
    const hunkIds = this.review.absent.map(({ hunk }) => hunk.id);
    const told = JSON.stringify(hunkIds);
    if (told !== this.told) {
      this.told = told;
      this.chat.post({ type: "absent", hunkIds });
    }
  }
}
