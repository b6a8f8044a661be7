/** The chat view: a page that is made when it is first shown, and that messages go to and come from. */
import * as vscode from "vscode";
import type { FromView, ToView } from "../shared/messages";
import { page } from "./page";

export class ChatView implements vscode.WebviewViewProvider {
  static readonly id = "marvin.chat";
  private view: vscode.WebviewView | undefined;
  private readonly said = new vscode.EventEmitter<FromView>();
  private readonly seen = new vscode.EventEmitter<boolean>();

  readonly onSaid = this.said.event;
  /** Whether the person sees it, each time that this changes. */
  readonly onSeen = this.seen.event;

  constructor(private readonly extension: vscode.Uri) {}

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  /** Tell the page; nothing where there is none, since a new page asks for all that it needs. */
  post(message: ToView): void {
    void this.view?.webview.postMessage(message);
  }

  /** Bring it up, with the cursor in its input. */
  async show(): Promise<void> {
    await vscode.commands.executeCommand(`${ChatView.id}.focus`);
    this.post({ type: "focus" });
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const dist = vscode.Uri.joinPath(this.extension, "dist");
    this.view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((message: FromView) => this.said.fire(message));
    view.webview.html = page(view.webview, dist);
    view.onDidChangeVisibility(() => this.see(view.visible));
    view.onDidDispose(() => {
      this.view = undefined;
      this.see(false);
    });
    this.see(view.visible);
  }

  private see(isVisible: boolean): void {
    if (!isVisible) {
      this.said.fire({ type: "focused", isFocused: false });
    }
    this.seen.fire(isVisible);
  }
}
