/** One session as the extension knows it: what runs, what waits for the person, what can be undone. */
import type {
  Event,
  Patch,
  Permission,
  Session,
  SessionLoadResult,
  TurnEventsParams,
  UsageGetResult,
} from "./protocol";
import { titleOf } from "./shared/title";

export interface OpenPatch {
  patch: Patch;
  /** No file is changed yet: the tool call waits for the person. */
  isProposed: boolean;
}

export class Conversation {
  /** The turn that runs in this server. */
  turnId: string | undefined;
  /** Questions without an answer, the oldest first. */
  permissions: readonly Permission[] = [];
  /** Patches with the hunks that are not decided on, the oldest first. */
  patches: readonly OpenPatch[] = [];
  usage: UsageGetResult | undefined;
  /** Turns that have ended and were not undone, the latest last. */
  finished: readonly string[] = [];
  /** Turns that were undone, the latest last. */
  undone: readonly string[] = [];
  /** The last notification that counts. */
  seq = 0;
  /** What changes now is done by this server, so that its events tell all of it. */
  isOurs = false;

  constructor(public session: Session) {}

  get title(): string {
    return titleOf(this.session);
  }

  /** Nothing was said in it yet, and it has no name. */
  get isNew(): boolean {
    return this.session.title === "" && !this.isBusy && this.finished.length + this.undone.length === 0;
  }

  /** What is at work here and can be stopped, in a word. */
  get work(): string | undefined {
    return this.turnId === undefined ? this.session.activity : "working";
  }

  get isBusy(): boolean {
    return this.turnId !== undefined || this.session.busy;
  }

  /** Become what the snapshot says. */
  load(snapshot: SessionLoadResult): void {
    this.session = snapshot.session;
    this.seq = snapshot.seq;
    this.turnId = snapshot.turnId;
    this.isOurs = this.work !== undefined;
    const turns = new Set(snapshot.items.flatMap((item) => item.turnId ?? []));
    this.finished = [...turns].filter((each) => each !== snapshot.turnId && !this.undone.includes(each));
    this.permissions = snapshot.openPermissions;
    // A patch whose tool call still runs has not been applied: the call waits for the review.
    const running = new Set(
      snapshot.items.flatMap((item) => (item.kind === "toolCall" && item.status === "running" ? [item.id] : [])),
    );
    this.patches = snapshot.pendingPatches.map((patch) => ({
      patch,
      isProposed: patch.toolCallId !== undefined && running.has(patch.toolCallId),
    }));
  }

  /** The server has ended: nothing runs any more, and its questions are denied. */
  lose(): void {
    const { activity: _, ...session } = this.session;
    this.session = { ...session, busy: false };
    this.turnId = undefined;
    this.permissions = [];
  }

  /**
   * Take one notification. False where it does not follow the last one: the session has to be loaded again.
   * One that is older than what is known changes nothing.
   */
  take({ seq, events }: TurnEventsParams): boolean {
    if (seq > this.seq + 1) {
      return false;
    }
    if (seq === this.seq + 1) {
      this.seq = seq;
      events.forEach((event) => this.note(event));
    }
    return true;
  }

  /** A turn was undone, or done again. */
  turned(what: "undo" | "redo", turnId: string): void {
    const without = (turns: readonly string[]) => turns.filter((each) => each !== turnId);
    const [from, to] = [without(this.finished), without(this.undone)];
    this.finished = what === "undo" ? from : [...from, turnId];
    this.undone = what === "undo" ? [...to, turnId] : to;
  }

  /** Hunks are decided on. */
  decide(patchId: string, hunkIds: readonly string[]): void {
    this.patches = this.patches
      .map((open) => {
        if (open.patch.id !== patchId) {
          return open;
        }
        const edits = open.patch.edits
          .map((edit) => ({ ...edit, hunks: edit.hunks.filter((hunk) => !hunkIds.includes(hunk.id)) }))
          .filter((edit) => edit.hunks.length > 0);
        return { ...open, patch: { ...open.patch, edits } };
      })
      .filter((open) => open.patch.edits.length > 0);
  }

  private note(event: Event): void {
    switch (event.type) {
      case "turn.started":
        this.turnId = event.turnId;
        this.isOurs = true;
        break;
      case "turn.finished":
        if (this.turnId === event.turnId) {
          this.turnId = undefined;
          this.finished = [...this.finished, event.turnId];
        }
        break;
      case "permission.requested":
        this.permissions = [...this.permissions, event.permission];
        break;
      case "permission.resolved":
        this.permissions = this.permissions.filter((each) => each.id !== event.permissionId);
        break;
      case "patch.proposed":
      case "patch.applied":
        this.patches = [
          ...this.patches.filter((each) => each.patch.id !== event.patch.id),
          { patch: event.patch, isProposed: event.type === "patch.proposed" },
        ];
        break;
      case "patch.resolved":
        this.decide(event.patchId, [...event.kept, ...event.rejected.map((each) => each.hunkId)]);
        break;
    }
  }
}
