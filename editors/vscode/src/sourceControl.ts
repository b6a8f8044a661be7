/** Writes a commit message into the input box of the Source Control view. Nothing is committed. */
import * as vscode from "vscode";
import type { Conversations } from "./conversations";
import { outcome } from "./outcome";
import type { Server } from "./server/server";

/** The part of the built-in Git extension's interface, version 1, that is used here. */
interface Repository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): { readonly repositories: readonly Repository[] };
}

/** `chosen` is the source control whose button was pressed. What the person has written stays, below the message. */
export async function writeCommitMessage(
  server: Server,
  conversations: Conversations,
  chosen: vscode.SourceControl | undefined,
): Promise<void> {
  const repository = await repositoryOf(chosen);
  if (!repository) {
    return;
  }
  const options = { location: vscode.ProgressLocation.SourceControl, title: "Marvin: commit message" };
  await vscode.window.withProgress(options, async () => {
    const cwd = repository.rootUri.fsPath;
    const conversation = await conversations.begin({ cwd, title: "Commit message", ephemeral: true });
    const message = await outcome(server, conversations, conversation, async () =>
      server.request("marvin/oneShot", {
        sessionId: conversation.session.id,
        action: "commitMessage",
        uri: repository.rootUri.toString(),
      }),
    );
    const written = repository.inputBox.value.trim();
    repository.inputBox.value = written ? `${message}\n\n${written}` : message;
  });
}

async function repositoryOf(chosen: vscode.SourceControl | undefined): Promise<Repository | undefined> {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  const git = await extension?.activate();
  const repositories = git?.enabled ? git.getAPI(1).repositories : [];
  if (repositories.length === 0) {
    throw new Error("No Git repository is open. Open one, or switch on the setting git.enabled.");
  }
  const root = chosen?.rootUri?.toString();
  const named = repositories.find(({ rootUri }) => rootUri.toString() === root);
  if (named || repositories.length === 1) {
    return named ?? repositories[0];
  }
  const items = repositories.map((repository) => ({ label: repository.rootUri.fsPath, repository }));
  return (await vscode.window.showQuickPick(items, { placeHolder: "The repository" }))?.repository;
}
