/** Questions about what may run: shown in the chat, and wherever the person looks when they do not see the chat. */
import * as vscode from "vscode";
import type { Chat } from "./chat/chat";
import type { Conversation } from "./conversation";
import type { Conversations } from "./conversations";
import type { Permission, PermissionAnswerParams } from "./protocol";
import { isExact, plain } from "./plain";
import { ask, attempt, inform, warn } from "./say";
import type { Server } from "./server/server";

type Decision = PermissionAnswerParams["decision"];

const LABELS: Partial<Record<Decision, string>> = {
  allowOnce: "Allow once",
  allowSession: "Allow for session",
  deny: "Deny",
};
const SHOW = "Show";
const NONE = "No question waits for an answer.";
/** What a notification and a box show without hiding a part, in characters; a box has so many lines, too. */
const NOTIFIABLE = 300;
const BOXED = 600;
const MOST_LINES = 12;
const LONGEST_TITLE = 40;

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

  /** Ask the person in a box that shows all of a question: the oldest of the shown session, else of any. */
  async ask(): Promise<void> {
    const question = this.shown() ?? this.open[0];
    if (!question) {
      throw new Error(NONE);
    }
    const { permission } = question;
    const lines = whole(permission).split("\n");
    const isSmall = lines.length <= MOST_LINES && lines.join("\n").length <= BOXED;
    if (!isSmall || !permission.isWhole || !lines.every(isExact)) {
      await this.show(question);
      return;
    }
    // The first is what Enter presses.
    const offered = labels(permission).reverse();
    await this.answer(permission, await ask(heading(question), lines, ...offered));
  }

  /** Say no to the oldest question of the shown session, else to the one that the person chooses. */
  async deny(): Promise<void> {
    const question = this.shown() ?? (await this.chosen());
    if (question) {
      await this.answer(question.permission, LABELS.deny);
    }
  }

  /** Show a question where it can be read whole. */
  async show({ conversation }: Question): Promise<void> {
    await this.chat.open(conversation.session.id);
    await this.view.show();
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  private shown(): Question | undefined {
    return this.open.find(({ conversation }) => this.chat.isShown(conversation));
  }

  private async chosen(): Promise<Question | undefined> {
    if (this.open.length === 0) {
      throw new Error(NONE);
    }
    const items = this.open.map((question) => ({
      label: plain(subject(question.permission)),
      description: plain(question.conversation.title),
      question,
    }));
    return (await vscode.window.showQuickPick(items, { title: "Marvin: Deny", placeHolder: "Which?" }))?.question;
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
    const text = oneLine(question);
    const chosen =
      text === undefined
        ? await warn(`Marvin asks: ${heading(question)} It cannot be shown whole here.`, SHOW, LABELS.deny!)
        : await warn(text, ...labels(permission), SHOW);
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
      void inform("Marvin: that question was answered before.");
    }
  }
}

function labels({ options }: Permission): string[] {
  return options.flatMap((option) => LABELS[option] ?? []);
}

const HEADINGS: Record<Permission["kind"], string> = {
  command: "May this command run",
  edit: "May this be changed",
  network: "May this be fetched",
  trust: "May this be trusted",
  outsidePath: "May this file be used",
  protectedPath: "May this file be used",
};

function heading({ conversation, permission }: Question): string {
  const title = [...conversation.title];
  const name = title.length > LONGEST_TITLE ? `${title.slice(0, LONGEST_TITLE).join("")}…` : title.join("");
  return `${HEADINGS[permission.kind]} (session “${name}”)?`;
}

/** What a yes is about, in the words that a person knows it by. */
function subject({ title, command }: Permission): string {
  return command ? (command.revealed ?? command.display) : title;
}

/** All that a yes covers, in lines. */
function whole(permission: Permission): string {
  const { reason, decidedBy, command, diff } = permission;
  const environment = Object.entries(command?.envChanges ?? {}).map(([name, value]) => `${name}=${value}`);
  const scripts = command?.scripts.map(({ path, text }) => `It runs ${path}:\n${text}`) ?? [];
  return [
    subject(permission),
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
function oneLine(question: Question): string | undefined {
  const { permission } = question;
  const { decidedBy, command, diff, isWhole } = permission;
  const isPlain = isWhole && !diff && !command?.scripts.length && Object.keys(command?.envChanges ?? {}).length === 0;
  const place = command ? ` (in ${command.cwd})` : "";
  const text = `Marvin asks: ${plain(heading(question))} ${subject(permission)}${place}. Rule: ${decidedBy}`;
  return isPlain && text.length <= NOTIFIABLE && isExact(text) ? text : undefined;
}
