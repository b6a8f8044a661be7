/** Tells the person once when there is no server, with what can be done about it. */
import * as vscode from "vscode";
import { attempt } from "../say";
import type { Server } from "./server";

const INSTALL = "Install Marvin";
const SETTINGS = "Open Settings";
const RESTART = "Restart";
const LOG = "Show Log";

export function tellFailures(server: Server): vscode.Disposable {
  return server.onState(({ state, message }) => {
    if (state === "failed") {
      void attempt(() => tell(server, message));
    }
  });
}

async function tell(server: Server, message: string): Promise<void> {
  const actions = server.isMissing ? [INSTALL, SETTINGS] : [RESTART, LOG];
  switch (await vscode.window.showErrorMessage(message, ...actions)) {
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
