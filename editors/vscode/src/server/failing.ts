/** Tells the person once when there is no server, with what can be done about it; the chat tells it by itself. */
import * as vscode from "vscode";
import { attempt, fail, inform } from "../say";
import type { Server } from "./server";

const INSTALL = "Install Marvin";
const SETTINGS = "Open Settings";
const RESTART = "Restart";
const LOG = "Show Log";

export function tellFailures(server: Server, chat: { isVisible: boolean }): vscode.Disposable {
  return server.onState(({ state, message }) => {
    if (state === "failed" && !chat.isVisible) {
      void attempt(() => tell(server, message));
    }
  });
}

/** The settings name another program, or another environment: it is run when the person says so. */
export async function offerRestart(server: Server): Promise<void> {
  const question = "Marvin's settings have changed. They hold from the server's next start on.";
  if ((await inform(question, RESTART)) === RESTART) {
    await server.restart();
  }
}

async function tell(server: Server, message: string): Promise<void> {
  const actions = server.isMissing ? [INSTALL, SETTINGS] : [RESTART, LOG];
  switch (await fail(message, ...actions)) {
    case INSTALL:
      return server.install();
    case SETTINGS:
      return vscode.commands.executeCommand("marvin.openSettings");
    case RESTART:
      return vscode.commands.executeCommand("marvin.restart");
    case LOG:
      return server.log.show();
  }
}
