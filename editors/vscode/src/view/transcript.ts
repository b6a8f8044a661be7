/**
 * What is shown of a session, as a value: a snapshot (`session/load`) and each `turn/events` after it give the next one.
 *
 * Nothing here draws. An item that an event does not touch stays the same object, so that a page can tell by identity
 * what it has to draw again.
 */
import type {
  Draft,
  Event,
  Item as StoredItem,
  Message,
  Patch,
  Permission,
  Session,
  SessionLoadResult,
  ToolStarted,
  TurnEventsParams,
  TurnFinished,
} from "../protocol";
import type { End, Item, Note, Prose, Tool } from "./item";
import { changed, placed, put, without } from "./list";
import { grown, messageOf, page, prose, thoughtOver } from "./said";
import { settledBy } from "./words";

/** A prompt that waits for a turn of its own. */
export interface Queued {
  turnId: string;
  message: Message;
}

/** Older servers do not tell what waits. */
export type Snapshot = SessionLoadResult & { queued?: readonly Queued[] };

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
  queued: readonly Queued[];
  /** Prompts that were never started. */
  drafts: readonly Draft[];
}

/** What a running tool printed is shown from its end; its end brings the whole. */
const MOST_OUTPUT = 65_536;

/**
 * What a snapshot shows.
 *
 * @param ends of turns of this session that were seen here: they have what a snapshot does not know
 */
export function loaded(snapshot: Snapshot, ends: readonly End[] = []): Transcript {
  const seen = new Map(ends.map((end) => [end.id, end]));
  const stored = page(snapshot.items, snapshot.turnId);
  const isStored = ({ id }: Prose) => stored.some((item) => item.id === id);
  let items = stored.flatMap((item) => {
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
  return {
    session: snapshot.session,
    seq: snapshot.seq,
    isStale: false,
    items,
    hasChanges: snapshot.turnId !== undefined,
    questions: snapshot.openPermissions,
    queued: snapshot.queued ?? [],
    drafts: snapshot.drafts,
    ...(snapshot.cursor !== undefined && { cursor: snapshot.cursor }),
    ...(snapshot.turnId !== undefined && { turnId: snapshot.turnId }),
  };
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

/** With what one notification tells; the same object where it tells nothing new. */
export function told(transcript: Transcript, params: TurnEventsParams): Transcript {
  if (params.sessionId !== transcript.session.id || params.seq <= transcript.seq || transcript.isStale) {
    return transcript;
  }
  if (params.seq > transcript.seq + 1) {
    return { ...transcript, isStale: true };
  }
  return params.events.reduce(after, { ...transcript, seq: params.seq });
}

function after(transcript: Transcript, event: Event): Transcript {
  const { items } = transcript;
  switch (event.type) {
    case "turn.started": {
      const { costUsd: _, ...rest } = transcript;
      return {
        ...rest,
        turnId: event.turnId,
        hasChanges: false,
        queued: notOf(transcript.queued, event.turnId),
        drafts: without(transcript.drafts, event.turnId),
      };
    }
    case "message.delta":
      return {
        ...transcript,
        items: grown(thoughtOver(items, event.messageId), "answer", event.messageId, event.text),
      };
    case "thought.delta":
      return { ...transcript, items: grown(items, "thought", event.messageId, event.text) };
    case "thought.finished":
      return { ...transcript, items: prose(items, "thought", event.messageId, event.text) };
    case "message.finished":
      return { ...transcript, items: messageOf(items, event.message) };
    case "tool.started":
      return {
        ...transcript,
        items: put(items, { ...toolOf(event), status: "running", output: "" }),
      };
    case "tool.output":
      return {
        ...transcript,
        items: changed(items, "tool", event.toolCallId, (tool) => ({
          ...tool,
          output: (tool.output + event.text).slice(-MOST_OUTPUT),
        })),
      };
    case "tool.finished":
      return {
        ...transcript,
        hasChanges: transcript.hasChanges || (event.status !== "denied" && isCommand(items, event.toolCallId)),
        items: changed(items, "tool", event.toolCallId, (tool) => ({
          ...tool,
          status: event.status,
          output: event.output,
          durationMs: event.durationMs,
        })),
      };
    case "permission.requested":
      return { ...transcript, questions: [...without(transcript.questions, event.permission.id), event.permission] };
    case "permission.resolved":
      return settled(transcript, event.permissionId, settledBy(event.decision, event.by));
    case "patch.proposed":
      return { ...transcript, items: proposed(items, event.patch) };
    case "patch.applied":
      return { ...transcript, hasChanges: true, items: applied(items, event.patch) };
    case "patch.resolved": {
      const decided = Object.fromEntries([
        ...event.kept.map((id) => [id, true]),
        ...event.rejected.map(({ hunkId }) => [hunkId, false]),
      ]) as Record<string, boolean>;
      return {
        ...transcript,
        items: changed(items, "change", event.patchId, (change) => ({
          ...change,
          decided: { ...change.decided, ...decided },
        })),
      };
    }
    case "usage":
      return event.costUsd === undefined ? transcript : { ...transcript, costUsd: event.costUsd };
    case "notice":
      return {
        ...transcript,
        items: put(items, { kind: "note", id: fresh(transcript), level: event.level, text: event.text }),
      };
    case "turn.finished":
      return ended(transcript, event);
    default:
      return transcript;
  }
}

function ended(transcript: Transcript, event: TurnFinished): Transcript {
  const { turnId, costUsd, ...rest } = transcript;
  if (turnId !== event.turnId) {
    return { ...transcript, queued: notOf(transcript.queued, event.turnId) };
  }
  const items = thoughtOver(transcript.items);
  const end: End = {
    kind: "end",
    id: event.turnId,
    stopReason: event.stopReason,
    hasChanges: transcript.hasChanges,
    ...(event.error && { error: event.error.message }),
    ...(costUsd !== undefined && { costUsd }),
  };
  return { ...rest, items: put(items, end), hasChanges: false };
}

function isCommand(items: readonly Item[], toolCallId: string): boolean {
  return items.some((item) => item.kind === "tool" && item.id === toolCallId && item.effect === "execute");
}

/** Without the prompt of a turn, which waits no longer. */
export function notOf(queued: readonly Queued[], turnId: string): readonly Queued[] {
  return queued.filter((each) => each.turnId !== turnId);
}

function settled(transcript: Transcript, permissionId: string, answer: string): Transcript {
  const question = transcript.questions.find((each) => each.id === permissionId);
  const questions = without(transcript.questions, permissionId);
  if (!question) {
    return transcript;
  }
  if (transcript.items.some((item) => item.kind === "tool" && item.id === question.toolCallId)) {
    const items = changed(transcript.items, "tool", question.toolCallId ?? "", (tool) => ({ ...tool, answer }));
    return { ...transcript, questions, items };
  }
  const note: Note = { kind: "note", id: permissionId, level: "note", text: `${question.title}: ${answer}` };
  return { ...transcript, questions, items: put(transcript.items, note) };
}

function toolOf(event: ToolStarted): Pick<Tool, "kind" | "id" | "name" | "title" | "effect" | "input"> {
  return {
    kind: "tool",
    id: event.toolCallId,
    name: event.name,
    title: event.title,
    effect: event.kind,
    input: event.input,
  };
}

function proposed(items: readonly Item[], patch: Patch): readonly Item[] {
  return placed(items, { kind: "change", id: patch.id, patch, isProposed: true, decided: {} }, patch.toolCallId);
}

/** What was reviewed before it was made is decided on; the rest can be kept or rejected from now on. */
function applied(items: readonly Item[], patch: Patch): readonly Item[] {
  const before = items.find((item) => item.kind === "change" && item.id === patch.id);
  if (before?.kind !== "change") {
    return placed(items, { kind: "change", id: patch.id, patch, isProposed: false, decided: {} }, patch.toolCallId);
  }
  const hunks = patch.edits.flatMap((edit) => edit.hunks);
  const kept = Object.fromEntries(hunks.map((hunk) => [hunk.id, true]));
  return changed(items, "change", patch.id, (change) => ({
    ...change,
    isProposed: false,
    decided: { ...kept, ...change.decided },
  }));
}

/** An id for what has none: no two items are made by one event at one length. */
function fresh(transcript: Transcript): string {
  return `${transcript.seq}.${transcript.items.length}`;
}
