/**
 * What is shown of a session, as a value: a snapshot (`session/load`) gives the first, and each change another one.
 *
 * An item that a change does not touch stays the same object, so that a page can tell by identity what it has to draw
 * again.
 */
import type { Draft, Item as StoredItem, Permission, QueuedPrompt, Session, SessionLoadResult } from "../protocol";
import type { End, Item, Prose } from "./item";
import { changed, placed, put } from "./list";
import { page } from "./said";

export interface Transcript {
  session: Session;
  /** The last notification that counts. */
  seq: number;
  /** Notifications were missed: nothing counts until the session is loaded again. */
  isStale: boolean;
  items: readonly Item[];
  /** There are older items before this place. */
  cursor?: string;
  /** The turn that runs. */
  turnId?: string;
  /** Of the turn that runs: what it cost so far, and whether it may have changed files. */
  costUsd?: number;
  hasChanges: boolean;
  /** Open questions, the oldest first. */
  questions: readonly Permission[];
  /** Prompts that waited when the session was loaded. */
  queued: readonly QueuedPrompt[];
  /** Prompts that were never started. */
  drafts: readonly Draft[];
}

/**
 * What a snapshot shows.
 *
 * @param ends of turns of this session that were seen here: they have what a snapshot does not know
 */
export function loaded(snapshot: SessionLoadResult, ends: readonly End[] = []): Transcript {
  const seen = new Map(ends.map((end) => [end.id, end]));
  const stored = page(snapshot.items, snapshot.turnId);
  const isStored = ({ id }: Prose) => stored.some((item) => item.id === id);
  let items: readonly Item[] = stored.flatMap((item) => {
    const end = item.kind === "end" && seen.get(item.id);
    return end ? [...(end.lost ?? []).filter((each) => !isStored(each)), end] : item;
  });
  const { partial } = snapshot;
  if (partial?.thought) {
    items = put(items, { kind: "thought", id: partial.messageId, text: partial.thought, isWhole: partial.text !== "" });
  }
  if (partial?.text) {
    items = put(items, { kind: "answer", id: partial.messageId, text: partial.text, isWhole: false });
  }
  for (const patch of snapshot.pendingPatches) {
    const call = items.find((item) => item.kind === "tool" && item.id === patch.toolCallId);
    // A patch whose tool call runs has not been applied: the call waits for the review.
    const isProposed = call?.kind === "tool" && call.status === "running";
    items = placed(items, { kind: "change", id: patch.id, patch, isProposed, decided: {} }, patch.toolCallId);
  }
  items = snapshot.openPermissions.reduce(asked, items);
  return {
    session: snapshot.session,
    seq: snapshot.seq,
    isStale: false,
    items,
    hasChanges: snapshot.turnId !== undefined,
    questions: snapshot.openPermissions,
    queued: snapshot.queued,
    drafts: snapshot.drafts,
    ...(snapshot.cursor !== undefined && { cursor: snapshot.cursor }),
    ...(snapshot.turnId !== undefined && { turnId: snapshot.turnId }),
  };
}

/** With an open question about a tool call. */
export function asked(items: readonly Item[], { toolCallId }: Permission): readonly Item[] {
  return changed(items, "tool", toolCallId ?? "", (tool) => ({ ...tool, isAsked: true }));
}

/** The server has ended, and with it the turn that ran; what had come of it stays. */
export function lost(transcript: Transcript): Transcript {
  const { turnId, costUsd: _, ...rest } = transcript;
  if (turnId === undefined) {
    return transcript;
  }
  const items = transcript.items.map((item): Item => {
    if ((item.kind === "answer" || item.kind === "thought") && !item.isWhole) {
      return { ...item, isWhole: true };
    }
    return item.kind === "tool" && item.status === "running" ? { ...item, status: "cancelled" } : item;
  });
  const end: End = {
    kind: "end",
    id: turnId,
    stopReason: "failed",
    error: "The server ended during this turn. What had arrived is kept.",
    hasChanges: transcript.hasChanges,
    lost: items.filter((item, at): item is Prose => item !== transcript.items[at] && item.kind !== "tool"),
  };
  return { ...rest, items: put(items, end), questions: [], hasChanges: false };
}

/** With these turns, and no others, taken back. */
export function withUndone(transcript: Transcript, turnIds: readonly string[]): Transcript {
  const items = transcript.items.map((item) => {
    const isUndone = turnIds.includes(item.id);
    return item.kind === "end" && isUndone !== (item.isUndone ?? false) ? { ...item, isUndone } : item;
  });
  return items.some((item, at) => item !== transcript.items[at]) ? { ...transcript, items } : transcript;
}

/** With these hunks, and no others, not in their files any more. */
export function withAbsent(transcript: Transcript, hunkIds: readonly string[]): Transcript {
  const items = transcript.items.map((item) => {
    if (item.kind !== "change") {
      return item;
    }
    const own = item.patch.edits.flatMap((edit) => edit.hunks.map(({ id }) => id));
    const absent = own.filter((id) => hunkIds.includes(id));
    return absent.join() === (item.absent ?? []).join() ? item : { ...item, absent };
  });
  return { ...transcript, items };
}

/** With the page before what is there. */
export function withOlder(transcript: Transcript, older: StoredItem[], cursor: string | undefined): Transcript {
  const { cursor: _, ...rest } = transcript;
  // A turn may go on from one page to the next: its end is on the latter.
  const before = page(older, transcript.turnId);
  const [last] = before.slice(-1);
  const goesOn = last?.kind === "end" && transcript.items.some(({ kind, id }) => kind === "end" && id === last.id);
  const items = goesOn
    ? [
        ...before.slice(0, -1),
        ...changed(transcript.items, "end", last.id, (end) => ({
          ...end,
          hasChanges: end.hasChanges || last.hasChanges,
        })),
      ]
    : [...before, ...transcript.items];
  return { ...rest, items, ...(cursor !== undefined && { cursor }) };
}

/** Without the prompt of a turn, which waits no longer. */
export function notOf(queued: readonly QueuedPrompt[], turnId: string): readonly QueuedPrompt[] {
  return queued.filter((each) => each.turnId !== turnId);
}
