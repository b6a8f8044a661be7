/**
 * What the extension host and the chat view say to each other.
 *
 * The view is a page that shows one session. It holds no state that cannot be made again: after it was hidden or
 * reloaded it says `ready`, and the host answers with a snapshot (`session/load`) and, from then on, that session's
 * `turn/events`. Shapes that come from the server are passed on as they are (see `protocol.ts`, generated from
 * docs/protocol.schema.json).
 */
import type {
  Completion,
  ModelsListResult,
  Option,
  Session,
  SessionListResult,
  SessionLoadResult,
  TurnEventsParams,
  TurnStartResult,
  UsageGetResult,
} from "../protocol";

/** How it is with the server. `message` is a sentence for the person, with what to do where something is wrong. */
export interface Connection {
  state: "starting" | "ready" | "stopped" | "failed";
  message: string;
  /** What the button is called that says `restart`; there is none where it would not help. */
  remedy?: string;
}

/** A piece of context that goes with the next prompt. */
export interface Chip {
  id: string;
  label: string;
  /** What a screen reader says and a pointer sees: the whole path, the lines. */
  description: string;
}

export interface Picture {
  mimeType: string;
  /** base64 */
  data: string;
  name: string;
}

/** What stands in the input of a session. */
export interface Draft {
  text: string;
  pictures: readonly Picture[];
}

/** A draft as it was kept at a time, in milliseconds since 1970; at 0 there was none. */
export interface KeptDraft extends Draft {
  at: number;
}

export type WhenBusy = "queue" | "steer";

/** From the host to the view. */
export type ToView =
  | { type: "connection"; connection: Connection }
  /** The session that is shown from now on; `draft` is what the person had typed for it. */
  | { type: "loaded"; snapshot: SessionLoadResult; draft: KeptDraft }
  /** Older items, to be put before those that are there. */
  | { type: "older"; sessionId: string; items: SessionLoadResult["items"]; cursor?: string }
  | { type: "events"; events: TurnEventsParams }
  | { type: "session"; session: Session }
  /** The turns whose changes are taken back and can be done again, all of them. */
  | { type: "undone"; sessionId: string; turnIds: string[] }
  /** The hunks that wait and whose lines are not in their files any more, all of them, of whichever session. */
  | { type: "absent"; hunkIds: string[] }
  | { type: "options"; options: Option[] }
  | { type: "usage"; sessionId: string; usage: UsageGetResult }
  | { type: "chips"; chips: Chip[] }
  | { type: "insert"; text: string }
  | { type: "focus" }
  /** The answer to the request `id`; `error` is a sentence for the person. */
  | { type: "answer"; id: number; result?: unknown; error?: string };

/** From the view to the host, without an answer. */
export type FromView =
  | { type: "ready" }
  /** Whether the keys go to the page; the host says it by itself when the page is hidden. */
  | { type: "focused"; isFocused: boolean }
  /** `pictures` when they are others than before. */
  | { type: "draft"; sessionId: string; text: string; at: number; pictures?: readonly Picture[] }
  | { type: "removeChip"; id: string }
  | { type: "openPath"; path: string; line?: number }
  | { type: "openLink"; url: string }
  | { type: "openChange"; patchId: string; path: string }
  | { type: "copy"; text: string }
  | { type: "insertAtCursor"; text: string }
  | { type: "openSettings" }
  | { type: "showLog" }
  | { type: "restart" }
  | ({ type: "request"; id: number } & Request);

/** From the view to the host, with an answer of the shape in `Answers`. */
export type Request =
  | { method: "send"; params: { sessionId: string; text: string; pictures: Picture[]; whenBusy: WhenBusy } }
  | { method: "cancel"; params: { sessionId: string; turnId?: string } }
  | {
      method: "answer";
      params: {
        permissionId: string;
        decision: "allowOnce" | "allowSession" | "allowEdited" | "deny" | "denyAndStop";
        command?: string;
        note?: string;
      };
    }
  | {
      method: "resolve";
      params: { patchId: string; accept: string[] | "all"; reject: { hunkId: string; reason?: string }[] };
    }
  | { method: "undo"; params: { sessionId: string; turnId: string } }
  | { method: "redo"; params: { sessionId: string; turnId: string } }
  | { method: "complete"; params: { sessionId: string; text: string; cursor: number } }
  | { method: "sessions"; params: { query: string; cursor?: string } }
  | { method: "open"; params: { sessionId: string } }
  | { method: "new"; params: Record<string, never> }
  | { method: "fork"; params: { sessionId: string; atItemId?: string } }
  | { method: "rename"; params: { sessionId: string; title: string } }
  | { method: "archive"; params: { sessionId: string } }
  | { method: "delete"; params: { sessionId: string } }
  | { method: "older"; params: { sessionId: string; before: string } }
  | { method: "setOption"; params: { sessionId: string; name: string; value: string } }
  | { method: "models"; params: Record<string, never> }
  | { method: "addContext"; params: { kind: "selection" | "buffer" | "diagnostics" | "gitDiff" | "file" } };

export interface Answers {
  /** `finished`: an earlier server got it, and a snapshot has what came of it. */
  send: TurnStartResult;
  /** False: the question was settled before. */
  answer: { accepted: boolean };
  resolve: { applied: string[]; failed: { hunkId: string; reason: string }[] };
  undo: { applied: string[]; failed: { path: string; reason: string }[]; notes: string[] };
  redo: Answers["undo"];
  complete: Completion[];
  sessions: SessionListResult;
  models: ModelsListResult;
}
