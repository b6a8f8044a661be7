/** What comes of a turn that is started for one answer. */
import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import type { Conversations } from "./conversations";
import type { Message } from "./protocol";
import type { Server } from "./server/server";

/** Start a turn and wait for its end. Gives the model's last words. Throws an Error that says why there are none. */
export function outcome(
  server: Server,
  conversations: Conversations,
  conversation: Conversation,
  start: () => Promise<unknown>,
): Promise<string> {
  const subscriptions: vscode.Disposable[] = [];
  const ended = new Promise<string>((resolve, reject) => {
    let text = "";
    let hasStarted = false;
    subscriptions.push(
      conversations.onHeard(({ conversation: heard, params }) => {
        for (const event of heard === conversation ? params.events : []) {
          if (event.type === "message.finished" && event.message.role === "assistant") {
            text = said(event.message);
          } else if (event.type === "turn.finished" && event.stopReason === "completed") {
            resolve(text);
          } else if (event.type === "turn.finished") {
            reject(new Error(event.error?.message ?? `It ended early: ${event.stopReason}.`));
          }
        }
      }),
      // A turn that ends while its session is read anew is told by that alone.
      conversations.onLoaded(({ conversation: loaded, snapshot }) => {
        if (loaded === conversation && hasStarted && snapshot.turnId === undefined) {
          const messages = snapshot.items.flatMap((item) => (item.kind === "message" ? [item.message] : []));
          const last = messages.findLast(({ role }) => role === "assistant");
          resolve(last ? said(last) : text);
        }
      }),
      server.onState(({ state, message }) => state !== "ready" && reject(new Error(message))),
      conversations.onGone((gone) => gone === conversation && reject(new Error("Its session was deleted."))),
    );
    start().then(() => (hasStarted = true), reject);
  });
  return ended.finally(() => subscriptions.forEach((each) => each.dispose()));
}

function said({ parts }: Message): string {
  return parts
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n\n")
    .trim();
}
