/** Taking back what a turn changed in files, and putting it there again. */
import * as vscode from "vscode";
import type { Conversations } from "./conversations";
import type { TakeBackResult } from "./protocol";
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

/** What came of it, in a message. */
export function tell(what: "undo" | "redo", { applied, failed, notes }: TakeBackResult): void {
  const left = failed.map(({ path, reason }) => `${path} was left alone: ${reason}.`);
  const done = applied.length > 0 ? `${what === "undo" ? "Taken back" : "Done again"}: ${applied.join(", ")}.` : "";
  const text = ["Marvin:", done || "No file was changed.", ...left, ...notes].filter(Boolean).join(" ");
  void (left.length > 0 ? vscode.window.showWarningMessage(text) : vscode.window.showInformationMessage(text));
}
