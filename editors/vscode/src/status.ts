/** How it stands with Marvin, in the status bar: what waits for the person comes first. */
import * as vscode from "vscode";
import type { Chat } from "./chat/chat";
import type { Conversations } from "./conversations";
import type { Conversation } from "./conversation";
import type { Permissions } from "./permission";
import type { UsageGetResult } from "./protocol";
import type { Review } from "./review/review";
import type { Server } from "./server/server";

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("marvin", vscode.StatusBarAlignment.Right, 100);
  private readonly subscriptions: vscode.Disposable[];
  /** What the server wants the person to do. */
  private warning = "";

  constructor(
    private readonly server: Server,
    private readonly conversations: Conversations,
    private readonly chat: Chat,
    private readonly permissions: Permissions,
    private readonly review: Review,
  ) {
    this.item.name = "Marvin";
    this.subscriptions = [
      this.item,
      conversations.onChanged(() => this.refresh()),
      chat.onShown(() => this.refresh()),
      server.onState(() => this.refresh()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (review.isWaitingIn(document.uri)) {
          this.refresh();
        }
      }),
      server.onTold((told) => {
        if (told.method === "marvin/status/changed") {
          this.warning = told.params.kind === "warning" ? told.params.message : "";
          this.refresh();
        }
      }),
    ];
    this.refresh();
    this.item.show();
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  private refresh(): void {
    const questions = this.permissions.open.length;
    const hunks = this.review.waiting.length;
    const work = this.conversations.all.flatMap((each) => each.work ?? []);
    const { state, message } = this.server.state;
    const parts = [
      questions > 0 && (questions === 1 ? "question waits" : `${questions} questions wait`),
      state === "failed" && "does not run",
      state === "starting" && "starting",
      questions === 0 && (work.length > 1 ? `working on ${work.length}` : work[0]),
      hunks > 0 && (hunks === 1 ? "1 change to review" : `${hunks} changes to review`),
    ].filter(Boolean);
    const icon = questions > 0 ? "bell-dot" : state === "failed" || this.warning ? "warning" : "comment-discussion";
    this.item.text = `$(${icon}) Marvin${parts.length > 0 ? `: ${parts.join(", ")}` : ""}`;
    this.item.accessibilityInformation = { label: `Marvin: ${parts.join(", ") || state}`, role: "button" };
    this.item.command = questions > 0 ? "marvin.allow" : "marvin.menu";
    const waits = questions > 0 || state === "failed";
    this.item.backgroundColor = waits ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    const { current } = this.chat;
    this.item.tooltip = [message, this.warning, ...(current ? about(current) : [])].filter(Boolean).join("\n");
    void vscode.commands.executeCommand("setContext", "marvin.questions", questions);
    void vscode.commands.executeCommand("setContext", "marvin.hunks", this.review.hunks.length);
    void vscode.commands.executeCommand("setContext", "marvin.busy", this.chat.current?.work !== undefined);
  }
}

function about({ title, session, usage }: Conversation): string[] {
  return [title, `model ${session.model || "not chosen"}, mode ${session.mode}`, ...(usage ? [usageOf(usage)] : [])];
}

/** `context 12 % of 200,000 tokens, $0.03` */
export function usageOf({ contextUsed, contextSize, costUsd }: UsageGetResult): string {
  const context =
    contextSize === undefined
      ? `context ${contextUsed.toLocaleString("en")} tokens`
      : `context ${Math.round((contextUsed * 100) / contextSize)} % of ${contextSize.toLocaleString("en")} tokens`;
  return `${context}, ${costUsd === undefined ? "price unknown" : `$${costUsd.toFixed(2)}`}`;
}
