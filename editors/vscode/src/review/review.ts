/** The review of patches: the hunks that wait, where they are, and what the person says to them. */
import * as vscode from "vscode";
import type { Conversation, OpenPatch } from "../conversation";
import type { Conversations } from "../conversations";
import type { Edit, Hunk, PatchResolveResult, RejectedHunk } from "../protocol";
import { warn } from "../say";
import type { Server } from "../server/server";
import { before, nothing } from "./before";
import { linesOf, placeOf, type Lines, type Place } from "./placing";

/** A hunk that is not decided on. */
export interface OpenHunk {
  conversation: Conversation;
  open: OpenPatch;
  edit: Edit;
  hunk: Hunk;
}

/** A hunk with its place in a document as it is now. */
export interface Placed extends OpenHunk {
  place: Place;
}

export class Review {
  private readonly texts = new WeakMap<vscode.TextDocument, { version: number; lines: Lines }>();

  constructor(
    private readonly server: Server,
    private readonly conversations: Conversations,
  ) {}

  /** All that wait, in the order of their files and lines. */
  get hunks(): readonly OpenHunk[] {
    const all = this.conversations.all.flatMap((conversation) =>
      conversation.patches.flatMap((open) =>
        open.patch.edits.flatMap((edit) => edit.hunks.map((hunk) => ({ conversation, open, edit, hunk }))),
      ),
    );
    return all.sort((one, other) => {
      const [left, right] = [uriOf(one).toString(), uriOf(other).toString()];
      return left === right ? one.hunk.newStart - other.hunk.newStart : left < right ? -1 : 1;
    });
  }

  /** All but those whose lines are gone from a document that is open, such as by the editor's own undo. */
  get waiting(): readonly OpenHunk[] {
    return this.hunks.filter((one) => this.isThere(one));
  }

  /** Those that are made, and whose lines are gone. */
  get absent(): readonly OpenHunk[] {
    return this.hunks.filter((one) => !one.open.isProposed && !this.isThere(one));
  }

  /** Those of one document. */
  within(uri: vscode.Uri): readonly OpenHunk[] {
    return this.hunks.filter((one) => uriOf(one).toString() === uri.toString());
  }

  isWaitingIn(uri: vscode.Uri): boolean {
    return this.within(uri).length > 0;
  }

  /** The hunks of a document; one whose lines are not there any more is left out. */
  placed(document: vscode.TextDocument): readonly Placed[] {
    return this.within(document.uri)
      .flatMap((one) => {
        const place = placeOf(one.hunk, one.open.isProposed, this.lines(document));
        return place ? [{ ...one, place }] : [];
      })
      .sort((one, other) => one.place.first - other.place.first);
  }

  /** The hunk that the cursor is in, or next to. */
  atCursor({ document, selection }: vscode.TextEditor): Placed | undefined {
    const row = selection.active.line;
    return this.placed(document).find(
      ({ place }) => place.first - 1 <= row && row <= place.first + Math.max(place.count, 1) - 1,
    );
  }

  find(patchId: string, hunkId: string): OpenHunk | undefined {
    return this.hunks.find((one) => one.open.patch.id === patchId && one.hunk.id === hunkId);
  }

  /** The first hunk of a file of a patch that waits. */
  ofFile(patchId: string, path: string): OpenHunk | undefined {
    return this.hunks.find(({ open, edit }) => open.patch.id === patchId && edit.path === path);
  }

  /** Tell the server; of hunks that could not be found in their file, the person is told. */
  async resolve(
    patchId: string,
    accept: readonly string[] | "all",
    reject: readonly RejectedHunk[],
  ): Promise<PatchResolveResult> {
    const conversation = this.conversations.all.find((each) => each.patches.some((open) => open.patch.id === patchId));
    const params = { patchId, accept: accept === "all" ? accept : [...accept], reject: [...reject] };
    const result = await this.server.request("marvin/patch/resolve", params);
    if (conversation) {
      this.conversations.decide(conversation, patchId, result.applied);
    }
    if (result.failed.length > 0) {
      const reasons = new Set(result.failed.map(({ reason }) => (reason === "stale" ? STALE : reason)));
      const count = result.failed.length === 1 ? "A hunk was" : `${result.failed.length} hunks were`;
      void warn(`Marvin: ${count} left as it is: ${[...reasons].join("; ")}.`);
    }
    return result;
  }

  /** Keep these hunks, or take them back. */
  async resolveAll(wanted: readonly OpenHunk[], keep: boolean, reason?: string): Promise<void> {
    const patches = new Map<string, string[]>();
    for (const { open, hunk } of wanted) {
      patches.set(open.patch.id, [...(patches.get(open.patch.id) ?? []), hunk.id]);
    }
    for (const [patchId, ids] of patches) {
      await this.resolve(patchId, keep ? ids : [], keep ? [] : ids.map((id) => rejected(id, reason)));
    }
  }

  /** Show the hunk in its file. */
  async go(one: OpenHunk): Promise<void> {
    if (one.edit.kind === "delete" && !one.open.isProposed) {
      return this.openChange(one);
    }
    const document = await vscode.workspace.openTextDocument(uriOf(one));
    const place = placeOf(one.hunk, one.open.isProposed, this.lines(document));
    const row = Math.min(place?.first ?? one.hunk.newStart - 1, document.lineCount - 1);
    const editor = await vscode.window.showTextDocument(document);
    const at = new vscode.Position(row, 0);
    editor.selection = new vscode.Selection(at, at);
    editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Show the whole file beside what it was, or would be. */
  async openChange(one: OpenHunk): Promise<void> {
    const uri = uriOf(one);
    const [left, right, side] = one.open.isProposed
      ? [uri, before(uri), "proposed"]
      : [before(uri), one.edit.kind === "delete" ? nothing(uri) : uri, "changed"];
    await vscode.commands.executeCommand("vscode.diff", left, right, `${one.edit.path} (${side} by Marvin)`);
  }

  private isThere(one: OpenHunk): boolean {
    const uri = uriOf(one).toString();
    const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri);
    return !document || placeOf(one.hunk, one.open.isProposed, this.lines(document)) !== undefined;
  }

  private lines(document: vscode.TextDocument): Lines {
    const known = this.texts.get(document);
    if (known?.version === document.version) {
      return known.lines;
    }
    const lines = linesOf(document.getText());
    this.texts.set(document, { version: document.version, lines });
    return lines;
  }
}

const STALE = "the file is gone, or the lines are not in it any more, or more than once; Keep leaves it as it is now";

export function rejected(hunkId: string, reason: string | undefined): RejectedHunk {
  return reason ? { hunkId, reason } : { hunkId };
}

/** The file that a hunk is in now. */
export function uriOf({ open, edit }: OpenHunk): vscode.Uri {
  return vscode.Uri.parse(open.isProposed ? edit.uri : (edit.newUri ?? edit.uri));
}
