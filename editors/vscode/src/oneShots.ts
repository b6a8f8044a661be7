/** Marvin's actions on a place in a file: by a command, a menu, or a code action of the server's. */
import { basename } from "node:path";
import * as vscode from "vscode";
import { editor } from "./chat/adding";
import type { Chat } from "./chat/chat";
import { bare, diagnosticsOf } from "./context";
import type { Conversation } from "./conversation";
import type { Conversations } from "./conversations";
import { folderOf } from "./folders";
import { outcome } from "./outcome";
import type { Diagnostic, OneShotParams, Range } from "./protocol";
import { attempt, during, inform } from "./say";
import type { Server } from "./server/server";

type Action = OneShotParams["action"];

const TITLES: Record<Exclude<Action, "commitMessage">, string> = {
  explain: "Explain",
  fix: "Fix",
  test: "Write tests for",
  document: "Document",
  refactor: "Refactor",
  ask: "Ask about",
};
/** Their answer is what was asked for, so the chat shows it. */
const ANSWERS = new Set<Action>(["explain", "ask"]);

const REVIEW = "Review";
const SHOW = "Show";

/** What an action is about; without a range, all of the document. */
interface Subject {
  uri: vscode.Uri;
  range?: Range;
  diagnostics: readonly Diagnostic[];
}

/** The argument of the server's code actions. */
interface Argument {
  uri: string;
  range?: Range;
  diagnostics?: Diagnostic[];
}

export class OneShots {
  constructor(
    private readonly server: Server,
    private readonly conversations: Conversations,
    private readonly chat: Chat,
    private readonly showChat: () => Promise<void>,
  ) {}

  /** Do an action; the argument is a code action's, else it is about the active editor. */
  async run(action: keyof typeof TITLES, argument?: unknown): Promise<void> {
    const subject = isArgument(argument) ? fromServer(argument) : fromEditor();
    const title = `${TITLES[action]} ${placeOf(subject)}`;
    const told = action === "ask" ? await asked(title) : action === "refactor" ? await wished(title) : "";
    if (told === undefined) {
      return;
    }
    const instruction = [action === "fix" ? problems(subject) : "", told].filter(Boolean).join("\n\n");
    const conversation = await this.begin(subject, { title });
    const start = async () =>
      this.server.request("marvin/oneShot", {
        sessionId: conversation.session.id,
        action,
        uri: subject.uri.toString(),
        ...(subject.range && { range: subject.range }),
        ...version(subject.uri),
        ...(instruction && { instruction }),
      });
    if (ANSWERS.has(action)) {
      await this.chat.open(conversation.session.id);
      await this.showChat();
      await start();
    } else {
      await this.follow(conversation, title, start);
    }
  }

  /** Change the selected lines as the person says; the change is shown in place, and made when it is kept. */
  async edit(): Promise<void> {
    const { document } = editor();
    const subject = fromEditor();
    const title = `Edit ${placeOf(subject)}`;
    const instruction = await asked(title);
    if (!instruction) {
      return;
    }
    const all = document.validateRange(new vscode.Range(0, 0, document.lineCount, 0));
    const range = subject.range ?? { start: bare(all.start), end: bare(all.end) };
    const conversation = await this.begin(subject, { title, mode: "review" });
    const text = `${instruction}\n\nMake this change with apply_patch in ${placeOf(subject)}, and no other.`;
    await this.follow(conversation, title, async () =>
      this.server.request("marvin/turn/start", {
        sessionId: conversation.session.id,
        input: [{ type: "text", text }],
        context: [{ type: "selection", uri: subject.uri.toString(), version: document.version, range }],
      }),
    );
  }

  private async begin(subject: Subject, options: { title: string; mode?: "review" }): Promise<Conversation> {
    return this.conversations.begin({ cwd: await folderOf(subject.uri, this.server), ...options });
  }

  /** Show that it runs, with a way to cancel it, and what came of it. */
  private async follow(conversation: Conversation, title: string, start: () => Promise<unknown>): Promise<void> {
    const text = await during(`Marvin: ${title}`, (tell, token) => {
      const sessionId = conversation.session.id;
      const waiting = this.conversations.onChanged((changed) => {
        const isProposed = changed === conversation && changed.patches.some((open) => open.isProposed);
        tell(isProposed ? "waits for your review" : "");
      });
      token.onCancellationRequested(() => attempt(() => this.server.request("marvin/turn/cancel", { sessionId })));
      return outcome(this.server, this.conversations, conversation, start)
        .catch((error: unknown) => {
          if (!token.isCancellationRequested) {
            throw error;
          }
          return undefined;
        })
        .finally(() => waiting.dispose());
    });
    if (text !== undefined) {
      void attempt(() => this.tell(conversation, `${title}: ${text.split("\n")[0]}`));
    }
  }

  /** Say what came of it, in a line, with the way to it. */
  private async tell(conversation: Conversation, line: string): Promise<void> {
    const actions = conversation.patches.length > 0 ? [REVIEW, SHOW] : [SHOW];
    const chosen = await inform(`Marvin: ${line}`, ...actions);
    if (chosen === REVIEW) {
      await vscode.commands.executeCommand("marvin.nextHunk");
    } else if (chosen === SHOW) {
      await this.chat.open(conversation.session.id);
      await this.showChat();
    }
  }
}

function isArgument(argument: unknown): argument is Argument {
  return typeof (argument as Partial<Argument> | undefined)?.uri === "string";
}

function fromServer({ uri, range, diagnostics }: Argument): Subject {
  return { uri: vscode.Uri.parse(uri), ...(range && { range }), diagnostics: diagnostics ?? [] };
}

function fromEditor(): Subject {
  const { document, selection } = editor();
  if (document.uri.scheme !== "file") {
    throw new Error("Save the document as a file first: an action needs to name its place.");
  }
  return {
    uri: document.uri,
    ...(!selection.isEmpty && { range: { start: bare(selection.start), end: bare(selection.end) } }),
    diagnostics: diagnosticsOf(document.uri, selection.isEmpty ? undefined : selection),
  };
}

/** `basket.py:4-9`, counted from 1. */
function placeOf({ uri, range }: Subject): string {
  if (!range) {
    return basename(uri.path);
  }
  const isAtStart = range.end.character === 0 && range.end.line > range.start.line;
  const [first, last] = [range.start.line + 1, range.end.line + (isAtStart ? 0 : 1)];
  return `${basename(uri.path)}:${first === last ? first : `${first}-${last}`}`;
}

function problems({ diagnostics }: Subject): string {
  const lines = diagnostics.map(
    ({ range, message, source }) => `- line ${range.start.line + 1}: ${message}${source ? ` (${source})` : ""}`,
  );
  return lines.length > 0 ? ["The editor shows these problems there:", ...lines].join("\n") : "";
}

function version(uri: vscode.Uri): { version?: number } {
  const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  return open ? { version: open.version } : {};
}

/** What the person says; undefined where it is nothing. */
async function asked(title: string): Promise<string | undefined> {
  return (await vscode.window.showInputBox({ title: `Marvin: ${title}`, prompt: "What?" }))?.trim() || undefined;
}

/** As `asked`, but it may be empty. */
function wished(title: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({ title: `Marvin: ${title}`, prompt: "How? It may be empty." });
}
