/** Takes what the chat view says. */
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import type { ContextPieces } from "../context";
import type { Review } from "../review/review";
import { fail } from "../say";
import type { Server } from "../server/server";
import type { FromView } from "../shared/messages";
import type { Chat } from "./chat";
import type { Drafts } from "./drafts";
import type { Requests } from "./requests";

const LINKS = ["http:", "https:", "mailto:"];

export class Messages implements vscode.Disposable {
  /** The last editor that the person was in and could write in. */
  private written = vscode.window.visibleTextEditors.find(isWritable);
  private readonly subscription = vscode.window.onDidChangeActiveTextEditor((editor) => {
    this.written = isWritable(editor) ? editor : this.written;
  });

  constructor(
    private readonly server: Server,
    private readonly chat: Chat,
    private readonly requests: Requests,
    private readonly pieces: ContextPieces,
    private readonly drafts: Drafts,
    private readonly review: Review,
  ) {}

  /** Never throws: a request is answered with what went wrong, and the person is told of the rest. */
  async receive(message: FromView): Promise<void> {
    if (message.type === "request") {
      const { id } = message;
      try {
        this.chat.post({ type: "answer", id, result: await this.requests.handle(message) });
      } catch (error) {
        this.chat.post({ type: "answer", id, error: (error as Error).message });
      }
      return;
    }
    try {
      await this.do(message);
    } catch (error) {
      // Why there is no server is told by its state.
      if (message.type !== "ready" || this.server.state.state === "ready") {
        void fail(`Marvin: ${(error as Error).message}`);
      }
    }
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async do(message: Exclude<FromView, { type: "request" }>): Promise<void> {
    switch (message.type) {
      case "ready":
        return this.chat.ready();
      case "focused":
        // `focusedView` does not hold in a webview, whose frame is not in the view's own element.
        return vscode.commands.executeCommand("setContext", "marvin.chatFocused", message.isFocused);
      case "draft":
        return this.drafts.put(message.sessionId, message, message.pictures);
      case "removeChip":
        return this.pieces.remove(message.id);
      case "openPath":
        return this.openPath(message.path, message.line);
      case "openLink": {
        const url = vscode.Uri.parse(message.url, true);
        if (LINKS.includes(`${url.scheme}:`)) {
          await vscode.env.openExternal(url);
        }
        return;
      }
      case "openChange": {
        const one = this.review.ofFile(message.patchId, message.path);
        return one ? this.review.openChange(one) : this.openPath(message.path);
      }
      case "copy":
        return vscode.env.clipboard.writeText(message.text);
      case "insertAtCursor":
        return insert(message.text, this.written);
      case "openSettings":
        return vscode.commands.executeCommand("marvin.openSettings");
      case "showLog":
        return this.server.log.show();
      case "restart":
        return vscode.commands.executeCommand("marvin.restart");
    }
  }

  /** Open a file of the session: `line` counts from 1. */
  private async openPath(path: string, line?: number): Promise<void> {
    const cwd = this.chat.current?.session.cwd ?? "";
    const uri = vscode.Uri.file(isAbsolute(path) ? path : join(cwd, path));
    const row = Math.max(0, (line ?? 1) - 1);
    const selection = line === undefined ? {} : { selection: new vscode.Range(row, 0, row, 0) };
    await vscode.window.showTextDocument(uri, { preview: true, ...selection });
  }
}

/** Put text in the place of the selection of the last editor that can be written in, else into a new document. */
async function insert(text: string, last: vscode.TextEditor | undefined): Promise<void> {
  if (!last || !vscode.window.visibleTextEditors.includes(last)) {
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content: text }));
    return;
  }
  if (!(await last.edit((edit) => edit.replace(last.selection, text)))) {
    throw new Error(`${last.document.fileName} could not be written in. Is it read-only?`);
  }
  await vscode.window.showTextDocument(last.document, last.viewColumn);
}

function isWritable(editor: vscode.TextEditor | undefined): boolean {
  return ["file", "untitled"].includes(editor?.document.uri.scheme ?? "");
}
