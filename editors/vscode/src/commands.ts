/** What each command does, but for those of the review. */
import * as vscode from "vscode";
import { addContext, type ContextKind } from "./chat/adding";
import type { Chat } from "./chat/chat";
import type { ContextPieces } from "./context";
import type { Conversations } from "./conversations";
import type { OneShots } from "./oneShots";
import type { Permissions } from "./permission";
import { pickCommand, pickOption, pickSession, showJobs, showUsage } from "./picks";
import type { Server } from "./server/server";
import { writeCommitMessage } from "./sourceControl";
import { takeBackLatest, tell } from "./turns";

export interface Parts {
  server: Server;
  conversations: Conversations;
  chat: Chat;
  pieces: ContextPieces;
  oneShots: OneShots;
  permissions: Permissions;
  showChat(): Promise<void>;
}

export type Commands = Record<string, (argument?: never) => unknown>;

export function commands(parts: Parts): Commands {
  const { server, conversations, chat, pieces, oneShots, permissions, showChat } = parts;
  const add = (kind: ContextKind) => async () => {
    await addContext(pieces, kind);
    await showChat();
  };
  const turn = (what: "undo" | "redo") => async () => {
    const conversation = await chat.ensure();
    tell(what, await takeBackLatest(what, server, conversations, conversation));
  };
  return {
    "marvin.open": showChat,
    "marvin.new": async () => {
      await chat.beginAnew();
      await showChat();
    },
    "marvin.sessions": () => pickSession(chat, showChat),
    "marvin.cancel": async () => {
      const { current } = chat;
      if (current) {
        await server.request("marvin/turn/cancel", { sessionId: current.session.id });
      }
    },
    "marvin.allow": () => permissions.ask(),
    "marvin.deny": () => permissions.deny(),
    "marvin.explain": (argument?: unknown) => oneShots.run("explain", argument),
    "marvin.fix": (argument?: unknown) => oneShots.run("fix", argument),
    "marvin.test": (argument?: unknown) => oneShots.run("test", argument),
    "marvin.document": (argument?: unknown) => oneShots.run("document", argument),
    "marvin.refactor": (argument?: unknown) => oneShots.run("refactor", argument),
    "marvin.ask": () => oneShots.run("ask"),
    "marvin.edit": () => oneShots.edit(),
    "marvin.commitMessage": (chosen?: vscode.SourceControl) => writeCommitMessage(server, conversations, chosen),
    "marvin.addSelection": add("selection"),
    "marvin.addBuffer": add("buffer"),
    "marvin.addDiagnostics": add("diagnostics"),
    "marvin.addChanges": add("gitDiff"),
    "marvin.addFile": async (uri?: vscode.Uri) => {
      await (uri ? pieces.addFile(uri) : addContext(pieces, "file"));
      await showChat();
    },
    "marvin.undo": turn("undo"),
    "marvin.redo": turn("redo"),
    "marvin.selectModel": () => pickOption(server, chat, "model"),
    "marvin.selectMode": () => pickOption(server, chat, "mode"),
    "marvin.selectThinking": () => pickOption(server, chat, "thinking"),
    "marvin.usage": async () => showUsage(await chat.ensure()),
    "marvin.jobs": () => showJobs(server),
    "marvin.menu": pickCommand,
    "marvin.showLog": () => server.log.show(),
    "marvin.openSettings": () =>
      vscode.commands.executeCommand("workbench.action.openSettings", "@ext:marvin-assistant.marvin"),
    "marvin.install": () => server.install(),
    "marvin.restart": async () => {
      if (!vscode.workspace.isTrusted) {
        await vscode.commands.executeCommand("workbench.trust.manage");
      } else if (server.isMissing) {
        await vscode.commands.executeCommand("marvin.install");
      } else {
        await server.restart();
      }
    },
  } satisfies Record<string, (argument?: never) => unknown> as Commands;
}
