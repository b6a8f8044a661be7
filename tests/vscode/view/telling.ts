// An empty session, and what it is told.
import type { SessionLoadResult, TurnEventsParams } from "../../../editors/vscode/src/protocol";
import { begin, received, type State } from "../../../editors/vscode/src/view/state";
import { told } from "../../../editors/vscode/src/view/told";
import type { Transcript } from "../../../editors/vscode/src/view/transcript";
import { session, usage } from "../session";

export const NONE = { text: "", pictures: [], at: 0 };
export const empty: SessionLoadResult = {
  session,
  items: [],
  seq: 0,
  openPermissions: [],
  pendingPatches: [],
  queued: [],
  drafts: [],
};

export const started = {
  type: "turn.started",
  turnId: "t",
  sessionId: "s",
  provider: "p",
  model: "m",
} as const;

export const finished = {
  type: "turn.finished",
  turnId: "t",
  stopReason: "completed",
  usage,
} as const;

export const prompt = { role: "user" as const, id: "u", parts: [{ type: "text" as const, text: "Hi" }] };

export function tell(transcript: Transcript, ...events: TurnEventsParams["events"]): Transcript {
  return told(transcript, {
    sessionId: "s",
    turnId: "t",
    seq: transcript.seq + 1,
    events,
  });
}

/** A page that shows a session in which these were told. */
export function page(...events: TurnEventsParams["events"]): State {
  const params = { sessionId: "s", turnId: "t", seq: 1, events };
  const shown = received(begin(undefined), { type: "loaded", snapshot: empty, draft: NONE });
  return received(shown, { type: "events", events: params });
}
