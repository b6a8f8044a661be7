/** A view without a page: says to the extension what the chat view says, and keeps what it is told. */
import * as vscode from "vscode";
import type { Event, Permission, SessionLoadResult } from "../../../editors/vscode/src/protocol";
import type { Answers, FromView, Request, ToView } from "../../../editors/vscode/src/shared/messages";
import { until } from "./harness";

interface Exports {
  receive(message: FromView): void;
  onDidPost: vscode.Event<ToView>;
}
type Answer<M> = M extends keyof Answers ? Answers[M] : unknown;
type Params<M> = Extract<Request, { method: M }>["params"];

export class View {
  readonly told: ToView[] = [];
  private asked = 0;

  private constructor(private readonly extension: Exports) {
    extension.onDidPost((message) => this.told.push(message));
  }

  /** Activates the extension, and waits until it shows a session. */
  static async open(): Promise<View> {
    const extension = vscode.extensions.getExtension<Exports>("marvin-assistant.marvin");
    if (!extension) {
      throw new Error("the extension is not installed");
    }
    const view = new View(await extension.activate());
    view.post({ type: "ready" });
    await view.until("a session", () => view.told.find((message) => message.type === "loaded"));
    return view;
  }

  /** The session that is shown, as it was loaded. */
  get snapshot(): SessionLoadResult {
    const loaded = this.told.findLast((message) => message.type === "loaded");
    if (!loaded) {
      throw new Error("no session is shown");
    }
    return loaded.snapshot;
  }

  get sessionId(): string {
    return this.snapshot.session.id;
  }

  /** The events of all turns so far, in order. */
  get events(): Event[] {
    return this.told.flatMap((message) => (message.type === "events" ? message.events.events : []));
  }

  post(message: FromView): void {
    this.extension.receive(message);
  }

  async request<M extends Request["method"]>(method: M, params: Params<M>): Promise<Answer<M>> {
    const id = ++this.asked;
    this.post({ type: "request", id, method, params } as unknown as FromView);
    const answer = await this.until(`an answer to ${method}`, () =>
      this.told.find((message) => message.type === "answer" && message.id === id),
    );
    if (answer.type !== "answer" || answer.error !== undefined) {
      throw new Error(answer.type === "answer" ? answer.error : "no answer");
    }
    return answer.result as Answer<M>;
  }

  /** Shows a session in which nothing was said yet. */
  async fresh(): Promise<void> {
    await this.request("new", {});
    await this.until("an empty session", () => (this.snapshot.items.length === 0 ? true : undefined));
  }

  /** Sends a prompt; gives its turn's id. */
  async say(text: string): Promise<string> {
    const params = {
      sessionId: this.sessionId,
      text,
      pictures: [],
      whenBusy: "queue" as const,
    };
    return (await this.request("send", params)).turnId;
  }

  /** Sends a prompt, and gives the turn's events once it has finished. */
  async hear(text: string): Promise<Event[]> {
    return this.finished(await this.say(text));
  }

  /** All events of a turn, once it has finished. */
  async finished(turnId: string): Promise<Event[]> {
    const events = () =>
      this.told.flatMap((message) =>
        message.type === "events" && message.events.turnId === turnId ? message.events.events : [],
      );
    await this.until("the end of the turn", () => events().find((event) => event.type === "turn.finished"));
    return events();
  }

  /** The question that is asked next. */
  async question(): Promise<Permission> {
    const asked = await this.until("a question", () => {
      const last = this.events.findLast((event) => event.type === "permission.requested");
      const isOpen = last && !this.events.some((event) => isAnswerTo(event, last.permission.id));
      return isOpen ? last : undefined;
    });
    return asked.permission;
  }

  async until<T>(what: string, found: () => T | undefined): Promise<T> {
    return until(what, found).catch((problem: unknown) => {
      throw new Error(
        `${String(problem)}; the last of what was told: ${JSON.stringify(this.told.at(-1)).slice(0, 600)}`,
      );
    });
  }
}

/** The text of the answers among events. */
export function spoken(events: readonly Event[]): string {
  return events
    .flatMap((event) =>
      event.type === "message.finished" && event.message.role === "assistant" ? event.message.parts : [],
    )
    .map((part) => ("text" in part && part.type === "text" ? part.text : ""))
    .join("");
}

export function stopReason(events: readonly Event[]): string | undefined {
  return events.flatMap((event) => (event.type === "turn.finished" ? [event.stopReason] : [])).at(-1);
}

function isAnswerTo(event: Event, permissionId: string): boolean {
  return event.type === "permission.resolved" && event.permissionId === permissionId;
}
