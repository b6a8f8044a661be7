/** Taking back what a turn changed in files, and putting it there again. */
import type { Conversation } from "./conversation";
import type { Conversations } from "./conversations";
import type { TakeBackResult } from "./protocol";
import { inform, warn } from "./say";
import type { Server } from "./server/server";

/** Do it, at once: each is the other's way back. Throws as the server refuses it. */
export async function takeBack(
  what: "undo" | "redo",
  server: Server,
  conversations: Conversations,
  sessionId: string,
  turnId: string,
): Promise<TakeBackResult> {
  const result = await server.request(`marvin/turn/${what}`, { sessionId, turnId });
  conversations.turned(sessionId, what, turnId);
  return result;
}

/** The server refuses it so where nothing of the turn could be taken back. */
const FAILED = -32803;

/** Do it to the latest turn that has changed files. Throws an Error where there is none. */
export async function takeBackLatest(
  what: "undo" | "redo",
  server: Server,
  conversations: Conversations,
  { session, finished, undone }: Conversation,
): Promise<TakeBackResult> {
  for (const turnId of [...(what === "undo" ? finished : undone)].reverse()) {
    try {
      const result = await takeBack(what, server, conversations, session.id, turnId);
      if (result.applied.length + result.failed.length > 0) {
        return result;
      }
    } catch (error) {
      if ((error as { code?: number }).code !== FAILED) {
        throw error;
      }
    }
  }
  throw new Error(
    what === "undo"
      ? "No turn of this session has changed files."
      : "No turn of this session was undone in this window.",
  );
}

/** What came of it, in a message. */
export function tell(what: "undo" | "redo", { applied, failed, notes }: TakeBackResult): void {
  const left = failed.map(({ path, reason }) => `${path} was left alone: ${reason}.`);
  const done = applied.length > 0 ? `${what === "undo" ? "Taken back" : "Done again"}: ${applied.join(", ")}.` : "";
  const text = ["Marvin:", done || "No file was changed.", ...left, ...notes].filter(Boolean).join(" ");
  void (left.length > 0 ? warn(text) : inform(text));
}
