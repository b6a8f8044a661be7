/** What goes to the model beside the next prompt of a session. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Diagnostic, ImageContext, TurnStartParams } from "./protocol";
import type { Chip } from "./shared/messages";

export type Context = NonNullable<TurnStartParams["context"]>[number];

const PICTURES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

interface Source {
  /** As it is when the prompt is sent; undefined where what it was about is gone. */
  wire(): Context | undefined;
  follow?(event: vscode.TextDocumentChangeEvent): void;
}

interface Piece extends Chip {
  source: Source;
}

export interface Taken {
  context: Context[];
  /** The labels of those whose document is not there any more. */
  gone: string[];
  putBack(): void;
}

export class ContextPieces implements vscode.Disposable {
  /** By session. */
  private readonly pieces = new Map<string, readonly Piece[]>();
  /** The session that is shown; before there is one, what is added waits for it. */
  private shown = "";
  private last = 0;
  private readonly changed = new vscode.EventEmitter<readonly Chip[]>();
  private readonly subscription = vscode.workspace.onDidChangeTextDocument((event) =>
    [...this.pieces.values()].flat().forEach((piece) => piece.source.follow?.(event)),
  );

  /** Others are those of the shown session. */
  readonly onChanged = this.changed.event;

  get chips(): readonly Chip[] {
    return this.of(this.shown).map(({ id, label, description }) => ({ id, label, description }));
  }

  addSelection({ document, selection }: vscode.TextEditor): void {
    const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
    const [first, last] = [range.start.line + 1, range.end.line + 1];
    const lines = first === last ? `${first}` : `${first}-${last}`;
    const label = `${nameOf(document.uri)}:${lines}`;
    this.add(label, `Lines ${lines} of ${pathOf(document.uri)}`, new Selection(document, range));
  }

  /** Add all text of a document, saved or not; of one that is closed meanwhile, its file. */
  addBuffer(document: vscode.TextDocument): void {
    const uri = document.uri.toString();
    this.add(nameOf(document.uri), `All text of ${pathOf(document.uri)}`, {
      wire: () => {
        const open = find(uri);
        const file: Context | undefined = document.uri.scheme === "file" ? { type: "file", uri } : undefined;
        return open ? { type: "buffer", uri, version: open.version } : file;
      },
    });
  }

  addDiagnostics(uri: vscode.Uri): void {
    this.add(`problems of ${nameOf(uri)}`, `The problems that the editor shows in ${pathOf(uri)}`, {
      wire: () => ({ type: "diagnostics", uri: uri.toString(), items: diagnosticsOf(uri) }),
    });
  }

  addDiff(): void {
    this.add("changes", "The changes that Git shows", { wire: () => ({ type: "gitDiff" }) });
  }

  /** Add a file that the model may read; of a picture, what it shows. */
  async addFile(uri: vscode.Uri): Promise<void> {
    const mimeType = PICTURES[uri.path.split(".").at(-1)?.toLowerCase() ?? ""];
    if (!mimeType) {
      this.add(nameOf(uri), pathOf(uri), { wire: () => ({ type: "file", uri: uri.toString() }) });
      return;
    }
    const picture: ImageContext = { type: "image", mimeType, data: (await readFile(uri.fsPath)).toString("base64") };
    this.add(nameOf(uri), `The picture ${pathOf(uri)}`, { wire: () => picture });
  }

  /** From now on, pieces are added to this session. */
  show(sessionId: string): void {
    const waiting = this.shown === "" ? this.of("") : [];
    this.pieces.delete("");
    this.shown = sessionId;
    this.become(sessionId, [...this.of(sessionId), ...waiting]);
  }

  remove(id: string): void {
    this.become(
      this.shown,
      this.of(this.shown).filter((piece) => piece.id !== id),
    );
  }

  forget(sessionId: string): void {
    this.become(sessionId, []);
  }

  /** Take all, for a prompt. Nothing is left until `putBack` is called, for a prompt that was not sent. */
  take(sessionId: string): Taken {
    const taken = this.of(sessionId);
    const made = taken.map((piece) => ({ piece, context: piece.source.wire() }));
    this.become(sessionId, []);
    return {
      context: made.flatMap(({ context }) => context ?? []),
      gone: made.flatMap(({ piece, context }) => (context ? [] : [piece.label])),
      putBack: () => this.become(sessionId, [...taken, ...this.of(sessionId)]),
    };
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private add(label: string, description: string, source: Source): void {
    const piece = { id: String(++this.last), label, description, source };
    this.become(this.shown, [...this.of(this.shown), piece]);
  }

  private of(sessionId: string): readonly Piece[] {
    return this.pieces.get(sessionId) ?? [];
  }

  private become(sessionId: string, pieces: readonly Piece[]): void {
    this.pieces.set(sessionId, pieces);
    if (sessionId === this.shown) {
      this.changed.fire(this.chips);
    }
  }
}

/** Lines of a document, followed while the text before them changes. */
class Selection implements Source {
  private readonly uri: string;
  private isGone = false;

  constructor(
    document: vscode.TextDocument,
    private range: vscode.Range,
  ) {
    this.uri = document.uri.toString();
  }

  follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (document.uri.toString() === this.uri) {
      for (const change of contentChanges) {
        this.isGone ||= change.range.contains(this.range) && !change.range.isEqual(this.range);
        this.range = moved(this.range, change);
      }
    }
  }

  wire(): Context | undefined {
    const document = find(this.uri);
    if (!document || this.isGone) {
      return undefined;
    }
    const { start, end } = document.validateRange(this.range);
    return {
      type: "selection",
      uri: this.uri,
      version: document.version,
      range: { start: bare(start), end: bare(end) },
    };
  }
}

/** Where a range is after a change: what is typed inside it belongs to it. */
export function moved(range: vscode.Range, change: vscode.TextDocumentContentChangeEvent): vscode.Range {
  const lines = change.text.split("\n");
  const end = change.range.end;
  const grown = lines.length - 1 - (end.line - change.range.start.line);
  const move = (at: vscode.Position, isEnd: boolean) => {
    if (at.isBefore(end) || (!isEnd && at.isEqual(end) && change.range.isEmpty)) {
      return at.isAfter(change.range.start) ? change.range.start : at;
    }
    const isLast = at.line === end.line;
    const left = lines.length === 1 ? change.range.start.character : 0;
    const character = isLast ? at.character - end.character + left + lines.at(-1)!.length : at.character;
    return new vscode.Position(at.line + grown, character);
  };
  return new vscode.Range(move(range.start, false), move(range.end, true));
}

/** What the editor's other servers say about a document, or about a part of it. */
export function diagnosticsOf(uri: vscode.Uri, within?: vscode.Range): Diagnostic[] {
  return vscode.languages
    .getDiagnostics(uri)
    .filter(({ range }) => !within || within.intersection(range))
    .map(({ range, message, severity, source, code }) => ({
      range: { start: bare(range.start), end: bare(range.end) },
      message,
      // LSP counts from 1.
      severity: severity + 1,
      ...(source !== undefined && { source }),
      ...(code !== undefined && { code: typeof code === "object" ? code.value : code }),
    }));
}

/** A position as the protocol has it. */
export function bare({ line, character }: vscode.Position): { line: number; character: number } {
  return { line, character };
}

function find(uri: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri);
}

function nameOf(uri: vscode.Uri): string {
  return basename(uri.path);
}

function pathOf(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, (vscode.workspace.workspaceFolders?.length ?? 0) > 1);
}
