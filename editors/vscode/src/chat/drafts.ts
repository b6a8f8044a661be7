/** What the person has typed and not sent, for each session, and which session this workspace had last. */
import type { Memento } from "vscode";

const SESSION = "marvin.session";
const DRAFTS = "marvin.drafts";
/** So many sessions keep a draft. */
const MOST = 50;

export class Drafts {
  constructor(private readonly state: Memento) {}

  get lastSession(): string | undefined {
    return this.state.get<string>(SESSION);
  }

  async remember(sessionId: string | undefined): Promise<void> {
    await this.state.update(SESSION, sessionId);
  }

  get(sessionId: string): string {
    return this.all[sessionId] ?? "";
  }

  async put(sessionId: string, text: string): Promise<void> {
    const { [sessionId]: _, ...others } = this.all;
    const entries = text ? [...Object.entries(others), [sessionId, text]] : Object.entries(others);
    await this.state.update(DRAFTS, Object.fromEntries(entries.slice(-MOST)));
  }

  private get all(): Record<string, string> {
    return this.state.get<Record<string, string>>(DRAFTS, {});
  }
}
