/** Which folder a session works in. */
import * as vscode from "vscode";
import { dirname } from "node:path";
import type { Server } from "./server/server";

/** The folder of the workspace that a document belongs to; where there is none, the one that its file is in. */
export async function folderOf(uri: vscode.Uri | undefined, server: Server): Promise<string> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const own = uri && vscode.workspace.getWorkspaceFolder(uri);
  if (own ?? folders[0]) {
    return (own ?? folders[0])!.uri.fsPath;
  }
  return uri?.scheme === "file" ? dirname(uri.fsPath) : server.emptyFolder();
}

/** The folder for a new session; the person is asked where there are several. Undefined: they have decided otherwise. */
export async function chosenFolder(server: Server): Promise<string | undefined> {
  if ((vscode.workspace.workspaceFolders?.length ?? 0) <= 1) {
    return folderOf(vscode.window.activeTextEditor?.document.uri, server);
  }
  const placeHolder = "The folder that the session works in";
  return (await vscode.window.showWorkspaceFolderPick({ placeHolder }))?.uri.fsPath;
}
