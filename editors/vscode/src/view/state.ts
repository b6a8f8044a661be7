/** All that the page shows, as a value, and what each message of the host makes of it. */
import type { Message, Option, UsageGetResult } from "../protocol";
import type { Chip, Connection, Draft, KeptDraft, Picture, ToView, WhenBusy } from "../shared/messages";
import type { End, Prompt } from "./item";
import { promptOf } from "./said";
import { told } from "./told";
import { loaded, lost, withAbsent, withOlder, withUndone, type Transcript } from "./transcript";

/** A prompt that was sent and is not in the transcript yet. `turnId` is known once the server has taken it. */
export interface Sent {
  key: number;
  text: string;
  pictures: readonly Picture[];
  state: "sending" | "running" | "queued" | "steered";
  turnId?: string;
}

export interface State {
  connection: Connection;
  transcript?: Transcript;
  options: readonly Option[];
  usage?: UsageGetResult;
  chips: readonly Chip[];
  draft: Draft;
  sent: readonly Sent[];
  whenBusy: WhenBusy;
  /** What went wrong last, for the person. */
  problem: string;
  panel: "transcript" | "sessions";
  isLoadingOlder: boolean;
  /** Counts the wishes that the input has the focus. */
  focus: number;
}

/** What outlives the page. */
export interface Kept {
  sessionId: string;
  draft: KeptDraft;
  whenBusy: WhenBusy;
  ends: readonly End[];
}

export const EMPTY: Draft = { text: "", pictures: [] };

export function begin(kept: Kept | undefined): State {
  return {
    connection: { state: "starting", message: "Marvin is starting." },
    options: [],
    chips: [],
    draft: EMPTY,
    sent: [],
    whenBusy: kept?.whenBusy ?? "queue",
    problem: "",
    panel: "transcript",
    isLoadingOlder: false,
    focus: 0,
  };
}

/** @param kept what an earlier page of this view left */
export function received(state: State, message: Exclude<ToView, { type: "answer" }>, kept?: Kept): State {
  switch (message.type) {
    case "connection": {
      const isLost = message.connection.state !== "ready" && state.transcript;
      return { ...state, connection: message.connection, ...(isLost && { transcript: lost(isLost) }) };
    }
    case "loaded":
      return shown(state, message, kept);
    case "older":
      return state.transcript?.session.id === message.sessionId
        ? { ...state, transcript: withOlder(state.transcript, message.items, message.cursor), isLoadingOlder: false }
        : state;
    case "events":
      return state.transcript ? withEvents(state, state.transcript, message.events) : state;
    case "session":
      return state.transcript?.session.id === message.session.id
        ? { ...state, transcript: { ...state.transcript, session: message.session } }
        : state;
    case "undone":
      return state.transcript?.session.id === message.sessionId
        ? { ...state, transcript: withUndone(state.transcript, message.turnIds) }
        : state;
    case "absent":
      return state.transcript ? { ...state, transcript: withAbsent(state.transcript, message.hunkIds) } : state;
    case "options":
      return { ...state, options: message.options };
    case "usage":
      return state.transcript?.session.id === message.sessionId ? { ...state, usage: message.usage } : state;
    case "chips":
      return { ...state, chips: message.chips };
    case "insert":
      return { ...state, draft: joined(state.draft, { text: message.text, pictures: [] }), focus: state.focus + 1 };
    case "focus":
      return { ...state, focus: state.focus + 1, panel: "transcript" };
    default:
      return state;
  }
}

/** One text after the other, so that neither is lost. */
export function joined(first: Draft, second: Draft): Draft {
  const gap = first.text && second.text && !/\s$/.test(first.text) ? (second.text.includes("\n") ? "\n" : " ") : "";
  // The same list where nothing is added: others are told to the host.
  const pictures = second.pictures.length > 0 ? [...first.pictures, ...second.pictures] : first.pictures;
  return { text: first.text + gap + second.text, pictures };
}

/** The words and pictures of a prompt, to be sent anew. */
export function draftOf(message: Message): Draft {
  return draftOfPrompt(promptOf(message));
}

export function draftOfPrompt({ text, images }: Prompt): Draft {
  return {
    text,
    pictures: images.map(({ mimeType, data }, at) => ({ mimeType, data, name: `picture ${at + 1}` })),
  };
}

/** The ends of turns: a snapshot of the same session does not have their reasons. */
export function endsOf(transcript: Transcript | undefined): End[] {
  return transcript?.items.filter((item) => item.kind === "end") ?? [];
}

function shown(state: State, message: Extract<ToView, { type: "loaded" }>, kept: Kept | undefined): State {
  const { draft, snapshot } = message;
  const { id } = snapshot.session;
  if (state.transcript?.session.id === id) {
    const drafts = snapshot.drafts.map(({ message }) => promptOf(message).text);
    const isTold = ({ state }: Sent) => state === "running" || state === "queued";
    const sent = state.sent.filter((each) => !isTold(each) && !drafts.includes(each.text));
    return { ...state, transcript: loaded(snapshot, endsOf(state.transcript)), sent, isLoadingOlder: false };
  }
  const own = kept?.sessionId === id ? kept : undefined;
  const { usage: _, ...rest } = state;
  return {
    ...rest,
    transcript: loaded(snapshot, own?.ends),
    // What was typed before there was a session stays.
    draft: joined(own && own.draft.at >= draft.at ? own.draft : draft, state.transcript ? EMPTY : state.draft),
    sent: [],
    problem: "",
    panel: "transcript",
    isLoadingOlder: false,
  };
}

function withEvents(state: State, before: Transcript, params: Extract<ToView, { type: "events" }>["events"]): State {
  const transcript = told(before, params);
  if (transcript === before || transcript.isStale) {
    return { ...state, transcript };
  }
  let { sent } = state;
  for (const event of params.events) {
    if (event.type === "message.finished" && event.message.role === "user") {
      const { text } = promptOf(event.message);
      const at = sent.findIndex((each) => each.text === text);
      sent = at < 0 ? sent : sent.toSpliced(at, 1);
    } else if (event.type === "turn.finished") {
      sent = sent.filter((each) => each.turnId !== event.turnId || each.state === "steered");
    }
  }
  return { ...state, transcript, sent };
}
