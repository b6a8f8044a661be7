/** Questions about what may run: shown in the chat, and wherever the person looks when they do not see the chat. */
import * as vscode from "vscode";
import type { Chat } from "./chat/chat";
import type { Conversation } from "./conversation";
import type { Conversations } from "./conversations";
import type { Permission, PermissionAnswerParams } from "./protocol";
import { attempt } from "./say";
import type { Server } from "./server/server";

type Decision = PermissionAnswerParams["decision"];

const LABELS: Partial<Record<Decision, string>> = {
  allowOnce: "Allow once",
  allowSession: "Allow for session",
  deny: "Deny",
};
const SHOW = "Show";
/** A notification shows one line of at most 1000 characters, and turns what looks like a link into one. */
const NOTIFIABLE = 300;
const ODD = /[\p{C}\u2028\u2029]|\]\(/u;
const MODAL = 2000;

export interface Question {
  conversation: Conversation;
  permission: Permission;
}

export class Permissions implements vscode.Disposable {
  private readonly notified = new Set<string>();
  /** Questions whose notification was not touched yet. */
  private readonly pending = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly conversations: Conversations,
    private readonly chat: Chat,
    /** The chat view: whether the person sees it, and a way to it. */
    private readonly view: { isVisible: boolean; onSeen: vscode.Event<boolean>; show(): Promise<void> },
  ) {
    this.subscriptions = [
      conversations.onChanged(() => void this.refresh()),
      chat.onShown(() => void this.refresh()),
      view.onSeen(() => void this.refresh()),
    ];
  }

  /** The open questions of all conversations, the oldest first. */
  get open(): readonly Question[] {
    return this.conversations.all.flatMap((conversation) =>
      conversation.permissions.map((permission) => ({ conversation, permission })),
    );
  }

  /** Ask the person about the oldest open question in a box that shows all of it. */
  async ask(): Promise<void> {
    const question = this.oldest();
    const { permission } = question;
    const detail = whole(permission);
    if (detail.length > MODAL || !permission.isWhole || /[\p{C}\u2028\u2029]/u.test(detail.replaceAll("\n", ""))) {
      await this.show(question);
      return;
    }
    // The first is what Enter presses.
    const offered = labels(permission).reverse();
    const chosen = await vscode.window.showWarningMessage(heading(permission), { modal: true, detail }, ...offered);
    await this.answer(permission, chosen);
  }

  /** Say no to the oldest open question. */
  async deny(): Promise<void> {
    await this.answer(this.oldest().permission, LABELS.deny);
  }

  /** Show a question where it can be read whole. */
  async show({ conversation }: Question): Promise<void> {
    await this.chat.open(conversation.session.id);
    await this.view.show();
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  private oldest(): Question {
    const question = this.open[0];
    if (!question) {
      throw new Error("No question waits for an answer.");
    }
    return question;
  }

  private async refresh(): Promise<void> {
    const ids = new Set(this.open.map(({ permission }) => permission.id));
    const settled = [...this.pending].filter((id) => !ids.has(id));
    if (settled.length > 0) {
      settled.forEach((id) => this.pending.delete(id));
      // VS Code has no way to close a single notification.
      await vscode.commands.executeCommand("notifications.hideToasts");
    }
    for (const question of this.open) {
      const { id } = question.permission;
      const isSeen = this.view.isVisible && this.chat.isShown(question.conversation);
      if (!isSeen && !this.notified.has(id)) {
        this.notified.add(id);
        this.pending.add(id);
        void attempt(() => this.notify(question));
      }
    }
  }

  private async notify(question: Question): Promise<void> {
    const { permission } = question;
    const text = oneLine(permission);
    const chosen =
      text === undefined
        ? await vscode.window.showWarningMessage(
            `Marvin asks: ${heading(permission)} It cannot be shown whole here.`,
            SHOW,
            LABELS.deny!,
          )
        : await vscode.window.showWarningMessage(text, ...labels(permission), SHOW);
    this.pending.delete(permission.id);
    if (chosen === SHOW) {
      await this.show(question);
    } else {
      await this.answer(permission, chosen);
    }
  }

  /** Send what the person chose; nothing chosen is no answer, and the question stays open. */
  private async answer(permission: Permission, chosen: string | undefined): Promise<void> {
    const decision = permission.options.find((option) => LABELS[option] === chosen);
    if (chosen === undefined || decision === undefined) {
      return;
    }
    const { accepted } = await this.server.request("marvin/permission/answer", {
      permissionId: permission.id,
      decision,
    });
    if (!accepted) {
      void vscode.window.showInformationMessage("Marvin: that question was answered before.");
    }
  }
}

function labels({ options }: Permission): string[] {
  return options.flatMap((option) => LABELS[option] ?? []);
}

function heading({ kind }: Permission): string {
  switch (kind) {
    case "command":
      return "May this command run?";
    case "edit":
      return "May this be changed?";
    case "network":
      return "May this be fetched?";
    case "trust":
      return "May this be trusted?";
    case "outsidePath":
    case "protectedPath":
      return "May this file be used?";
  }
}

/** All that a yes covers, in lines. */
function whole({ title, reason, decidedBy, command, diff }: Permission): string {
  const environment = Object.entries(command?.envChanges ?? {}).map(([name, value]) => `${name}=${value}`);
  const scripts = command?.scripts.map(({ path, text }) => `It runs ${path}:\n${text}`) ?? [];
  return [
    command ? (command.revealed ?? command.display) : title,
    ...(command ? [`in ${command.cwd}, by ${command.shell}`, command.sandbox && `sandbox: ${command.sandbox}`] : []),
    environment.length > 0 && `with ${environment.join(" ")}`,
    ...scripts,
    diff,
    reason,
    `Asked because of: ${decidedBy}`,
  ]
    .filter(Boolean)
    .join("\n\n");
}

/** What a notification can show exactly, in one line; undefined where it cannot. */
function oneLine(permission: Permission): string | undefined {
  const { title, decidedBy, command, diff, isWhole } = permission;
  const isPlain = isWhole && !diff && !command?.scripts.length && Object.keys(command?.envChanges ?? {}).length === 0;
  const what = command ? (command.revealed ?? command.display) : title;
  const text = `Marvin asks: ${heading(permission)} ${what}${command ? ` (in ${command.cwd})` : ""}. Rule: ${decidedBy}`;
  return isPlain && what.length <= NOTIFIABLE && !ODD.test(text) ? text : undefined;
}
