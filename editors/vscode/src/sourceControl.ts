/** Writes a commit message into the input box of the Source Control view. Nothing is committed. */
import * as vscode from "vscode";
import type { Conversations } from "./conversations";
import { outcome } from "./outcome";
import { attempt } from "./say";
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

/** What stops the message that is being written for a repository, by its place. */
const running = new Map<string, AbortController>();

/**
 * `chosen` is the source control whose button was pressed; pressed once more meanwhile, it stops the writing. What the
 * person has written stays, below the message.
 */
export async function writeCommitMessage(
  server: Server,
  conversations: Conversations,
  chosen: vscode.SourceControl | undefined,
): Promise<void> {
  const repository = await repositoryOf(chosen);
  if (!repository) {
    return;
  }
  const uri = repository.rootUri.toString();
  const writing = running.get(uri);
  if (writing) {
    writing.abort();
    return;
  }
  const abort = new AbortController();
  running.set(uri, abort);
  const options = { location: vscode.ProgressLocation.SourceControl, title: "Marvin: commit message" };
  try {
    const message = await vscode.window.withProgress(options, () =>
      ask(server, conversations, repository, abort.signal),
    );
    const written = repository.inputBox.value.trim();
    repository.inputBox.value = written ? `${message}\n\n${written}` : message;
  } catch (error) {
    if (!abort.signal.aborted) {
      throw error;
    }
  } finally {
    running.delete(uri);
  }
}

/** The message; it is asked for in a session of its own, whose turn ends when it is aborted. */
async function ask(
  server: Server,
  conversations: Conversations,
  { rootUri }: Repository,
  signal: AbortSignal,
): Promise<string> {
  const conversation = await conversations.begin({ cwd: rootUri.fsPath, title: "Commit message", ephemeral: true });
  const sessionId = conversation.session.id;
  return outcome(server, conversations, conversation, async () => {
    signal.throwIfAborted();
    await server.request("marvin/oneShot", { sessionId, action: "commitMessage", uri: rootUri.toString() });
    const cancel = () => void attempt(() => server.request("marvin/turn/cancel", { sessionId }));
    signal.addEventListener("abort", cancel);
    if (signal.aborted) {
      cancel();
    }
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
