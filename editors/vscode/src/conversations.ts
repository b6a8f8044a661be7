/** The conversations that this window has to do with; keeps each in step with the server. */
import * as vscode from "vscode";
import { Conversation } from "./conversation";
import type { Event, SessionLoadResult, SessionNewParams, TurnEventsParams } from "./protocol";
import type { Server, Told } from "./server/server";

const SILENT = new Set<Event["type"]>(["message.delta", "thought.delta", "tool.output"]);

export interface Loaded {
  conversation: Conversation;
  snapshot: SessionLoadResult;
}

export interface Heard {
  conversation: Conversation;
  params: TurnEventsParams;
}

interface Loading {
  /** Notifications that came meanwhile. */
  held: TurnEventsParams[];
  done: Promise<Conversation>;
}

const NO_SESSION = 1001;

function isStart(event: Event): boolean {
  return event.type === "turn.started";
}

/** Whether the server has refused since there is no such session. */
export function isNoSession(error: unknown): boolean {
  return (error as { code?: number }).code === NO_SESSION;
}

export class Conversations implements vscode.Disposable {
  private readonly known = new Map<string, Conversation>();
  private readonly loading = new Map<string, Loading>();
  private readonly loaded = new vscode.EventEmitter<Loaded>();
  private readonly heard = new vscode.EventEmitter<Heard>();
  private readonly changed = new vscode.EventEmitter<Conversation>();
  private readonly gone = new vscode.EventEmitter<Conversation>();
  private readonly subscriptions: vscode.Disposable[];

  /** All of a session was read anew. */
  readonly onLoaded = this.loaded.event;
  /** A notification that follows the last one. */
  readonly onHeard = this.heard.event;
  /** What waits, what runs or how it is called has changed; deltas are not told here. */
  readonly onChanged = this.changed.event;
  /** The session is deleted. */
  readonly onGone = this.gone.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      server.onTold((told) => this.hear(told)),
      server.onState(({ state }) => {
        for (const conversation of this.known.values()) {
          if (state === "ready") {
            this.reload(conversation.session.id);
          } else {
            conversation.lose();
            this.changed.fire(conversation);
          }
        }
      }),
    ];
  }

  get all(): readonly Conversation[] {
    return [...this.known.values()];
  }

  find(sessionId: string): Conversation | undefined {
    return this.known.get(sessionId);
  }

  async begin(params: SessionNewParams): Promise<Conversation> {
    return this.of((await this.server.request("marvin/session/new", params)).session);
  }

  of(session: Conversation["session"]): Conversation {
    const conversation = this.known.get(session.id) ?? new Conversation(session);
    conversation.session = session;
    this.known.set(session.id, conversation);
    this.changed.fire(conversation);
    return conversation;
  }

  /** The person has decided on hunks; the server tells of it as well. */
  decide(conversation: Conversation, patchId: string, hunkIds: readonly string[]): void {
    conversation.decide(patchId, hunkIds);
    this.changed.fire(conversation);
  }

  /** A turn was undone, or done again. */
  turned(sessionId: string, what: "undo" | "redo", turnId: string): void {
    const conversation = this.known.get(sessionId);
    if (conversation) {
      conversation.turned(what, turnId);
      this.changed.fire(conversation);
    }
  }

  /** The session is no more. */
  forget(sessionId: string): void {
    const conversation = this.known.get(sessionId);
    if (conversation) {
      this.known.delete(sessionId);
      this.gone.fire(conversation);
      this.changed.fire(conversation);
    }
  }

  /** Read all of a session anew; what is told meanwhile is taken afterwards. Throws where there is none. */
  load(sessionId: string): Promise<Conversation> {
    const underWay = this.loading.get(sessionId);
    if (underWay) {
      return underWay.done;
    }
    const held: TurnEventsParams[] = [];
    const done = this.read(sessionId).finally(() => {
      this.loading.delete(sessionId);
      held.forEach((params) => this.take(params));
    });
    this.loading.set(sessionId, { held, done });
    return done;
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  private hear(told: Told): void {
    switch (told.method) {
      case "marvin/turn/events":
        this.take(told.params);
        break;
      case "marvin/session/changed": {
        const { session } = told.params;
        const conversation = this.known.get(session.id);
        if (conversation) {
          const isNews = !conversation.isOurs && conversation.session.updatedAt !== session.updatedAt;
          conversation.session = session;
          conversation.isOurs &&= conversation.isBusy;
          conversation.isOurs ||= session.activity !== undefined;
          this.changed.fire(conversation);
          if (isNews) {
            this.reload(session.id);
          }
        }
        break;
      }
      case "marvin/session/deleted":
        this.forget(told.params.sessionId);
    }
  }

  private take(params: TurnEventsParams): void {
    const loading = this.loading.get(params.sessionId);
    if (loading) {
      loading.held.push(params);
      return;
    }
    const conversation = this.known.get(params.sessionId);
    const before = conversation?.seq;
    // What another window's turn has said is in the store alone.
    const hasMore = conversation?.session.busy && !conversation.isOurs && params.events.some(isStart);
    if (!conversation || hasMore || !conversation.take(params)) {
      this.reload(params.sessionId);
    } else if (conversation.seq !== before) {
      this.heard.fire({ conversation, params });
      if (params.events.some((event) => !SILENT.has(event.type))) {
        this.changed.fire(conversation);
      }
      if (params.events.some((event) => event.type === "turn.finished")) {
        void this.refreshUsage(conversation);
      }
    }
  }

  private async read(sessionId: string): Promise<Conversation> {
    const snapshot = await this.server.request("marvin/session/load", { sessionId });
    const conversation = this.of(snapshot.session);
    conversation.load(snapshot);
    this.loaded.fire({ conversation, snapshot });
    this.changed.fire(conversation);
    void this.refreshUsage(conversation);
    return conversation;
  }

  private reload(sessionId: string): void {
    this.load(sessionId).catch((error: unknown) => {
      if (isNoSession(error)) {
        this.forget(sessionId);
      }
    });
  }

  private async refreshUsage(conversation: Conversation): Promise<void> {
    const sessionId = conversation.session.id;
    conversation.usage = await this.server.request("marvin/usage/get", { sessionId }).catch(() => conversation.usage);
    this.changed.fire(conversation);
  }
}
