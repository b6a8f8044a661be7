/** What a transcript is made of. */
import type { Compacted, Image, Patch, ToolStarted, TurnFinished } from "../protocol";

/** What the editor sent along with a prompt, as the model reads it. */
export interface Added {
  label: string;
  text: string;
}

export interface Prompt {
  kind: "prompt";
  id: string;
  text: string;
  context: readonly Added[];
  images: Image[];
}

/** `isWhole` once no more is to come. */
export interface Prose {
  kind: "answer" | "thought";
  id: string;
  text: string;
  isWhole: boolean;
}

/** `isAsked` while a question about it is open, and `answer` is how one was settled, in words. `durationMs` is absent while it runs or is unknown. */
export interface Tool {
  kind: "tool";
  id: string;
  name: string;
  title: string;
  effect?: ToolStarted["kind"];
  input: unknown;
  status: "running" | "ok" | "error" | "denied" | "cancelled";
  output: string;
  durationMs?: number;
  isAsked?: boolean;
  answer?: string;
}

/**
 * `isProposed` while no file is changed yet. `decided` has the hunks that were kept (true) or rejected (false), and
 * `absent` those whose lines are not in their file any more, such as after the editor's own undo.
 */
export interface Change {
  kind: "change";
  id: string;
  patch: Patch;
  isProposed: boolean;
  decided: Readonly<Record<string, boolean>>;
  absent?: readonly string[];
}

/** `turnId` is the turn that tells it, where what that tells next belongs to it. */
export interface Note {
  kind: "note";
  id: string;
  level: "note" | "warning" | "error";
  text: string;
  turnId?: string;
}

/** From here on the model reads a summary in the place of what is above, or no longer does. */
export interface Compaction {
  kind: "compaction";
  id: string;
  compaction: Compacted;
}

/** The end of a turn, by its id. Of one that was not seen here, the store has no reason and no cost. */
export interface End {
  kind: "end";
  id: string;
  stopReason: TurnFinished["stopReason"];
  error?: string;
  costUsd?: number;
  /** It may have changed files. */
  hasChanges: boolean;
  /** Its changes of files are taken back. */
  isUndone?: boolean;
  /** What the model was writing when the server was lost, which no store has. */
  lost?: readonly Prose[];
}

export type Item = Prompt | Prose | Tool | Change | Note | Compaction | End;
