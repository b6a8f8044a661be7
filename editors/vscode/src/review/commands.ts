/** The commands of the review. */
import * as vscode from "vscode";
import type { Chat } from "../chat/chat";
import { plain } from "../plain";
import { ask } from "../say";
import { fileOf } from "./before";
import { rejected, uriOf, type OpenHunk, type Review } from "./review";

/** A box does not hide a part of so many. */
const MOST_LINES = 12;

/** What each command does; an error of theirs is for the person. The ids name a hunk, else it is that at the cursor. */
export function reviewCommands(review: Review, chat: Chat): Record<string, (...args: never[]) => Promise<unknown>> {
  const hunk = (patchId?: unknown, hunkId?: unknown): OpenHunk => {
    const editor = vscode.window.activeTextEditor;
    const isNamed = typeof patchId === "string" && typeof hunkId === "string";
    const one = isNamed ? review.find(patchId, hunkId) : editor && review.atCursor(editor);
    if (!one) {
      throw new Error(isNamed ? "That hunk is decided on already." : "No change of Marvin's is at the cursor.");
    }
    return one;
  };
  const keep = ({ open, hunk: { id } }: OpenHunk) => review.resolve(open.patch.id, [id], []);
  const reject = ({ open, hunk: { id } }: OpenHunk, reason?: string) =>
    review.resolve(open.patch.id, [], [rejected(id, reason)]);
  return {
    "marvin.keepHunk": async (patchId?: unknown, hunkId?: unknown) => keep(hunk(patchId, hunkId)),
    "marvin.rejectHunk": async (patchId?: unknown, hunkId?: unknown) => reject(hunk(patchId, hunkId)),
    "marvin.rejectHunkWithReason": async (patchId?: unknown, hunkId?: unknown) => {
      const one = hunk(patchId, hunkId);
      const reason = await why();
      return reason === undefined ? undefined : reject(one, reason);
    },
    "marvin.keepAll": async () => {
      const { hunks } = review;
      return (await isMeant("Keep", hunks, chat)) && review.resolveAll(hunks, true);
    },
    "marvin.rejectAll": async () => {
      const { hunks } = review;
      const reason = (await isMeant("Reject", hunks, chat)) ? await why() : undefined;
      return reason !== undefined && review.resolveAll(hunks, false, reason);
    },
    "marvin.keepFile": async () => {
      const hunks = review.within(active());
      return (await isMeant("Keep", hunks, chat)) && review.resolveAll(hunks, true);
    },
    "marvin.rejectFile": async () => {
      const hunks = review.within(active());
      return (await isMeant("Reject", hunks, chat)) && review.resolveAll(hunks, false);
    },
    "marvin.nextHunk": () => step(review, 1),
    "marvin.previousHunk": () => step(review, -1),
    "marvin.openChange": async (patchId?: unknown, path?: unknown) => {
      const uri = vscode.window.activeTextEditor?.document.uri.toString();
      const one =
        typeof patchId === "string" && typeof path === "string"
          ? review.ofFile(patchId, path)
          : review.hunks.find((each) => uriOf(each).toString() === uri);
      if (!one) {
        throw new Error("No change of Marvin's in this file waits for a review.");
      }
      return review.openChange(one);
    },
  };
}

/** Whether the person means all of these: those that they may not have seen are named first. */
async function isMeant(verb: "Keep" | "Reject", hunks: readonly OpenHunk[], chat: Chat): Promise<boolean> {
  const editor = vscode.window.activeTextEditor;
  const own = editor && fileOf(editor.document.uri).toString();
  const isSeen = (one: OpenHunk) =>
    !one.open.isProposed && (chat.isShown(one.conversation) || uriOf(one).toString() === own);
  if (hunks.every(isSeen)) {
    return true;
  }
  const counts = new Map<string, number>();
  for (const { conversation, open, edit } of hunks) {
    const line = `${edit.newPath ?? edit.path}: ${open.isProposed ? "proposed" : "made"} in “${conversation.title}”`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  const lines = [...counts].map(([line, count]) => `${count} × ${line}`);
  const rest = lines.length > MOST_LINES ? [`… and ${lines.length - MOST_LINES} more such lines`] : [];
  const what = hunks.length === 1 ? "this change" : `these ${hunks.length} changes`;
  return (await ask(`${verb} ${what}?`, [...lines.slice(0, MOST_LINES), ...rest], verb)) === verb;
}

/** Go to the next hunk, or to the one before; past the last one it begins anew. */
async function step(review: Review, by: 1 | -1): Promise<void> {
  const { hunks } = review;
  const editor = vscode.window.activeTextEditor;
  const own = editor?.document.uri.toString() ?? "";
  const row = editor?.selection.active.line ?? 0;
  const here = editor ? review.placed(editor.document) : [];
  const beyond = hunks.filter((one) => {
    const uri = uriOf(one).toString();
    const first = here.find(({ hunk, open }) => hunk === one.hunk && open === one.open)?.place.first;
    const side = uri === own ? (first ?? -1) - row : uri < own ? -1 : 1;
    return by === 1 ? side > 0 : side < 0;
  });
  const target = (by === 1 ? beyond[0] : beyond.at(-1)) ?? (by === 1 ? hunks[0] : hunks.at(-1));
  if (!target) {
    throw new Error("Nothing waits for a review.");
  }
  await review.go(target);
  const name = `${target.edit.path}, change ${hunks.indexOf(target) + 1} of ${hunks.length}`;
  vscode.window.setStatusBarMessage(plain(`Marvin: ${name}`), 5000);
}

/** Undefined: the person has decided otherwise. */
function why(): Thenable<string | undefined> {
  return vscode.window.showInputBox({ prompt: "Why not? Marvin's model reads it; it may be empty." });
}

function active(): vscode.Uri {
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (!uri) {
    throw new Error("Open a file in an editor first.");
  }
  return fileOf(uri);
}
