/** Puts the parts together. */
import * as vscode from "vscode";
import { Chat } from "./chat/chat";
import { Drafts } from "./chat/drafts";
import { Messages } from "./chat/messages";
import { Requests } from "./chat/requests";
import { ChatView } from "./chat/view";
import { commands } from "./commands";
import { ContextPieces } from "./context";
import { Conversations } from "./conversations";
import { OneShots } from "./oneShots";
import { Permissions } from "./permission";
import { Absent } from "./review/absent";
import { reviewCommands } from "./review/commands";
import { Marks } from "./review/marks";
import { Review } from "./review/review";
import { attempt } from "./say";
import { offerRestart, tellFailures } from "./server/failing";
import { Server } from "./server/server";
import type { FromView, ToView } from "./shared/messages";
import { Status } from "./status";

/** The chat as a port: what its view says, and what it is told. */
export interface Port {
  receive(message: FromView): Promise<void>;
  onDidPost: vscode.Event<ToView>;
}

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): Port {
  const log = vscode.window.createOutputChannel("Marvin", { log: true });
  const server = new Server(context, log);
  const conversations = new Conversations(server);
  const pieces = new ContextPieces();
  const drafts = new Drafts(context.workspaceState);
  const chat = new Chat(server, conversations, pieces, drafts);
  const review = new Review(server, conversations);
  const requests = new Requests(server, conversations, chat, pieces, drafts, review);
  const messages = new Messages(server, chat, requests, pieces, drafts, review);
  const view = new ChatView(context.extensionUri);
  const permissions = new Permissions(server, conversations, chat, view);
  const showChat = () => view.show();
  const oneShots = new OneShots(server, conversations, chat, showChat);
  const all = {
    ...commands({ server, conversations, chat, pieces, oneShots, permissions, showChat }),
    ...reviewCommands(review, chat),
  };
  running = server;
  context.subscriptions.push(
    log,
    conversations,
    pieces,
    chat,
    messages,
    permissions,
    new Absent(review, chat, conversations),
    new Marks(review, conversations),
    new Status(server, conversations, chat, permissions, review),
    tellFailures(server, view),
    conversations.onChanged(() => void drafts.rememberReview(review.hunks.length > 0)),
    chat.onPost((message) => view.post(message)),
    view.onSaid((message) => void messages.receive(message)),
    // Why there is no server is told by its state.
    vscode.workspace.onDidGrantWorkspaceTrust(() => void chat.ensure().catch(() => undefined)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const isConcerned = event.affectsConfiguration("marvin.command") || event.affectsConfiguration("marvin.env");
      if (isConcerned && server.state.state !== "stopped") {
        void attempt(() => offerRestart(server));
      }
    }),
    vscode.window.registerWebviewViewProvider(ChatView.id, view),
    ...Object.entries(all).map(([id, command]) =>
      vscode.commands.registerCommand(id, (...args: never[]) => attempt(() => command(...args))),
    ),
  );
  if (drafts.hasReview && vscode.workspace.isTrusted) {
    // It is marked in the files, whether the chat is open or not; nothing else starts the server by itself.
    void chat.ensure().catch(() => undefined);
  }
  return { receive: (message) => messages.receive(message), onDidPost: chat.onPost };
}

export function deactivate(): Promise<void> | undefined {
  return running?.stop();
}
