/** The chat: which conversation is shown, and what its view is told. */
import * as vscode from "vscode";
import type { ContextPieces } from "../context";
import type { Conversation } from "../conversation";
import { isNoSession, type Conversations } from "../conversations";
import { chosenFolder, folderOf } from "../folders";
import type { SessionListResult, SessionNewParams } from "../protocol";
import type { Server } from "../server/server";
import type { ToView } from "../shared/messages";
import type { Drafts } from "./drafts";

export class Chat implements vscode.Disposable {
  private readonly posted = new vscode.EventEmitter<ToView>();
  private readonly shown = new vscode.EventEmitter<Conversation>();
  private readonly subscriptions: vscode.Disposable[];
  private shownId: string | undefined;
  private opening: Promise<Conversation> | undefined;

  readonly onPost = this.posted.event;
  /** Another conversation is shown. */
  readonly onShown = this.shown.event;

  constructor(
    private readonly server: Server,
    private readonly conversations: Conversations,
    private readonly pieces: ContextPieces,
    private readonly drafts: Drafts,
  ) {
    this.subscriptions = [
      server.onState((connection) => {
        this.post({ type: "connection", connection });
        if (connection.state === "ready" && !this.current) {
          void this.ensure().catch(() => undefined);
        }
      }),
      conversations.onLoaded(({ conversation, snapshot }) => {
        if (this.isShown(conversation)) {
          this.post({ type: "loaded", snapshot, draft: drafts.get(snapshot.session.id) });
          void this.tellOptions();
        }
      }),
      conversations.onHeard(({ conversation, params }) => {
        if (this.isShown(conversation)) {
          this.post({ type: "events", events: params });
        }
      }),
      conversations.onChanged((conversation) => {
        if (this.isShown(conversation)) {
          const { session, undone } = conversation;
          this.post({ type: "session", session });
          this.post({ type: "undone", sessionId: session.id, turnIds: [...undone] });
          if (conversation.usage) {
            this.post({ type: "usage", sessionId: conversation.session.id, usage: conversation.usage });
          }
        }
      }),
      conversations.onGone((conversation) => {
        if (this.isShown(conversation)) {
          this.shownId = undefined;
          void this.ensure().catch(() => undefined);
        }
      }),
      pieces.onChanged((chips) => this.post({ type: "chips", chips: [...chips] })),
    ];
  }

  get current(): Conversation | undefined {
    return this.shownId === undefined ? undefined : this.conversations.find(this.shownId);
  }

  isShown(conversation: Conversation): boolean {
    return conversation.session.id === this.shownId;
  }

  post(message: ToView): void {
    this.posted.fire(message);
  }

  /** A new page wants to know all of it. */
  async ready(): Promise<void> {
    this.post({ type: "connection", connection: this.server.state });
    this.post({ type: "chips", chips: [...this.pieces.chips] });
    const { current } = this;
    await (current && this.server.state.state === "ready" ? this.open(current.session.id) : this.ensure());
  }

  /** The conversation that is shown: the one that this workspace had last, else a new one. */
  ensure(): Promise<Conversation> {
    const { current } = this;
    if (current) {
      return Promise.resolve(current);
    }
    this.opening ??= this.openLast().finally(() => (this.opening = undefined));
    return this.opening;
  }

  /** Show a session of the store, read anew. */
  async open(sessionId: string): Promise<Conversation> {
    const before = this.shownId;
    this.shownId = sessionId;
    try {
      const conversation = await this.conversations.load(sessionId);
      await this.drafts.remember(sessionId);
      this.pieces.show(sessionId);
      this.shown.fire(conversation);
      return conversation;
    } catch (error) {
      this.shownId = before;
      throw error;
    }
  }

  async begin(params: SessionNewParams): Promise<Conversation> {
    return this.open((await this.conversations.begin(params)).session.id);
  }

  /** Show a new conversation, unless the person does not choose a folder for it; one without a prompt is new enough. */
  async beginAnew(): Promise<void> {
    const cwd = await chosenFolder(this.server);
    const { current } = this;
    if (cwd !== undefined) {
      await (current?.isNew && current.session.cwd === cwd ? this.open(current.session.id) : this.begin({ cwd }));
    }
  }

  /** The choices of mode, model and the like have changed, or are to be shown. */
  async tellOptions(): Promise<void> {
    const sessionId = this.shownId;
    if (sessionId !== undefined) {
      const { options } = await this.server.request("marvin/config/get", { sessionId });
      if (sessionId === this.shownId) {
        this.post({ type: "options", options });
      }
    }
  }

  /** Those of this workspace's folders with these words in them, the latest first; a page has some of each folder. */
  async sessions(query: string, cursor?: string): Promise<SessionListResult> {
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    const own = this.current ?? (folders.length > 0 ? undefined : await this.ensure());
    const places = new Set([...folders, ...(own ? [own.session.cwd] : [])]);
    const after = cursor === undefined ? undefined : (JSON.parse(cursor) as Record<string, string>);
    const pages = await Promise.all(
      [...places]
        .filter((cwd) => !after || cwd in after)
        .map(async (cwd) => {
          const page = { ...(query && { query }), ...(after?.[cwd] && { cursor: after[cwd] }), cwd };
          return { cwd, ...(await this.server.request("marvin/session/list", page)) };
        }),
    );
    const next = pages.flatMap(({ cwd, nextCursor }) => (nextCursor === undefined ? [] : [[cwd, nextCursor] as const]));
    return {
      sessions: pages
        .flatMap((page) => page.sessions)
        .sort((one, other) => other.updatedAt.localeCompare(one.updatedAt)),
      ...(next.length > 0 && { nextCursor: JSON.stringify(Object.fromEntries(next)) }),
    };
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  private async openLast(): Promise<Conversation> {
    const last = this.drafts.lastSession;
    if (last !== undefined) {
      try {
        return await this.open(last);
      } catch (error) {
        if (!isNoSession(error)) {
          throw error;
        }
      }
    }
    return this.begin({ cwd: await folderOf(vscode.window.activeTextEditor?.document.uri, this.server) });
  }
}
