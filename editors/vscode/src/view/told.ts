/** What each notification of a turn (`turn/events`) makes of a transcript. */
import type { Event, Notice, Patch, ToolStarted, TurnEventsParams, TurnFinished } from "../protocol";
import type { End, Item, Note, Tool } from "./item";
import { changed, placed, put, without } from "./list";
import { grown, messageOf, prose, thoughtOver } from "./said";
import { asked, notOf, type Transcript } from "./transcript";
import { settledBy } from "./words";

/** What a running tool printed is shown from its end; its end brings the whole. */
const MOST_OUTPUT = 65_536;

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
      return {
        ...transcript,
        questions: [...without(transcript.questions, event.permission.id), event.permission],
        items: asked(items, event.permission),
      };
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
      return { ...transcript, items: noted(transcript, event) };
    case "compaction":
      return { ...transcript, items: put(items, { kind: "compaction", id: event.id, compaction: event }) };
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

/** The lines that a turn says one after the other are one note. */
function noted({ items, seq, turnId }: Transcript, { level, text }: Notice): readonly Item[] {
  const last = items.at(-1);
  if (last?.kind === "note" && last.turnId !== undefined && last.turnId === turnId && last.level === level) {
    return put(items, { ...last, text: `${last.text}\n${text}` });
  }
  // No two items are made by one event at one length.
  return put(items, { kind: "note", id: `${seq}.${items.length}`, level, text, ...(turnId && { turnId }) });
}

function isCommand(items: readonly Item[], toolCallId: string): boolean {
  return items.some((item) => item.kind === "tool" && item.id === toolCallId && item.effect === "execute");
}

function settled(transcript: Transcript, permissionId: string, answer: string): Transcript {
  const question = transcript.questions.find((each) => each.id === permissionId);
  const questions = without(transcript.questions, permissionId);
  if (!question) {
    return transcript;
  }
  if (transcript.items.some((item) => item.kind === "tool" && item.id === question.toolCallId)) {
    const items = changed(transcript.items, "tool", question.toolCallId ?? "", ({ isAsked: _, ...tool }) => ({
      ...tool,
      answer,
    }));
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
