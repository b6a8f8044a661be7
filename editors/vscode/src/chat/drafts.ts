/** What outlives a window: what was typed and not sent, for each session, the last session, and whether a review waits. */
import type { Memento } from "vscode";
import type { KeptDraft, Picture } from "../shared/messages";

const SESSION = "marvin.session";
const DRAFTS = "marvin.drafts";
const REVIEW = "marvin.review";
/** So many sessions keep a draft. */
const MOST = 50;

type Words = Pick<KeptDraft, "text" | "at">;

export class Drafts {
  /** They may be large, and go with the window. */
  private readonly pictures = new Map<string, readonly Picture[]>();

  constructor(private readonly state: Memento) {}

  get lastSession(): string | undefined {
    return this.state.get<string>(SESSION);
  }

  async remember(sessionId: string | undefined): Promise<void> {
    await this.state.update(SESSION, sessionId);
  }

  /** Whether changes of Marvin's waited for a review when this workspace was shown last. */
  get hasReview(): boolean {
    return this.state.get(REVIEW, false);
  }

  async rememberReview(hasReview: boolean): Promise<void> {
    if (hasReview !== this.hasReview) {
      await this.state.update(REVIEW, hasReview);
    }
  }

  get(sessionId: string): KeptDraft {
    return { text: "", at: 0, ...this.all[sessionId], pictures: this.pictures.get(sessionId) ?? [] };
  }

  /** Without `pictures`, those stay that are there. */
  async put(sessionId: string, { text, at }: Words, pictures?: readonly Picture[]): Promise<void> {
    if (pictures) {
      this.pictures.set(sessionId, pictures);
    }
    const { [sessionId]: _, ...others } = this.all;
    const entries = [...Object.entries(others), [sessionId, { text, at }]];
    await this.state.update(DRAFTS, Object.fromEntries(entries.slice(-MOST)));
  }

  private get all(): Record<string, Words> {
    return this.state.get<Record<string, Words>>(DRAFTS, {});
  }
}
