/** Numbers and states as a person says them. */
import type { Compacted, Edit } from "../protocol";
import type { End, Tool } from "./item";

export const STATUS: Record<Tool["status"], string> = {
  running: "running",
  ok: "done",
  error: "failed",
  denied: "denied",
  cancelled: "stopped",
};

export const STOPPED: Record<End["stopReason"], string> = {
  completed: "",
  cancelled: "You stopped this turn. What had arrived is kept.",
  failed: "The turn failed.",
  denied: "The turn stopped, since a question was denied.",
  roundLimit: "Stopped at the limit of rounds. Say “go on” to continue.",
  budget: "Stopped at the cost limit.",
};

const DECISIONS: Record<string, string> = {
  allowOnce: "allowed once",
  allowSession: "allowed for this session",
  allowEdited: "allowed as edited",
  deny: "denied",
  denyAndStop: "denied, and the turn stopped",
};
const BY: Record<string, string> = {
  person: "",
  editor: " in another editor",
  terminal: " in a terminal",
  session: " as before in this session",
  cancelled: ", since the turn was stopped",
  shutdown: ", since the server ended",
};

/** How a question was settled, in words that say where when it was not here. */
export function settledBy(decision: string, by: string): string {
  return (DECISIONS[decision] ?? decision) + (BY[by] ?? `, by ${by}`);
}

/** Such as "3 files". */
export function count(number: number, one: string): string {
  return `${number} ${number === 1 ? one : `${one}s`}`;
}

export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) {
    return `${seconds.toFixed(1)} s`;
  }
  return seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function tokens(number: number): string {
  if (number < 1000) {
    return String(number);
  }
  const isMany = number >= 999_500;
  const rounded = number / (isMany ? 1_000_000 : 1000);
  return `${Number(rounded.toFixed(rounded < 10 ? 1 : 0))}${isMany ? "M" : "k"}`;
}

export function cost(usd: number): string {
  return usd > 0 && usd < 0.005 ? "under $0.01" : `$${usd.toFixed(2)}`;
}

/** What became of the conversation's length, and by how much. */
export function compacted({ reason, replaced }: Compacted): string {
  return reason === "undo" ? "Summary taken back" : `${count(replaced, "earlier message")} summarised`;
}

/** Estimates for all that the model reads. */
export function sizes({ tokensBefore, tokensAfter }: Compacted): string {
  return `${tokensBefore.toLocaleString("en")} → ${tokensAfter.toLocaleString("en")} tokens`;
}

export function bytes(number: number): string {
  return number < 1_000_000 ? `${Math.ceil(number / 1000)} KB` : `${(number / 1_000_000).toFixed(1)} MB`;
}

/** How long ago a moment was; `iso` is ISO 8601. */
export function ago(iso: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (minutes < 1) {
    return "just now";
  }
  if (minutes < 60) {
    return `${minutes} min ago`;
  }
  if (minutes < 24 * 60) {
    return `${count(Math.floor(minutes / 60), "hour")} ago`;
  }
  return minutes < 30 * 24 * 60
    ? `${count(Math.floor(minutes / 60 / 24), "day")} ago`
    : new Date(iso).toLocaleDateString();
}

export function lineCounts(edit: Edit): { added: number; removed: number } {
  return edit.hunks.reduce(
    ({ added, removed }, { newLines, oldLines }) => ({
      added: added + newLines.length,
      removed: removed + oldLines.length,
    }),
    { added: 0, removed: 0 },
  );
}
