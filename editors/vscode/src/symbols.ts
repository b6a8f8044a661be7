/** Completion in the prompt: files and commands by the server, symbols by the editor's language servers. */
import * as vscode from "vscode";
import type { Completion } from "./protocol";
import type { Server } from "./server/server";

const SYMBOL = /(?:^|\s)#(\S*)$/;
const MOST = 50;

interface Found {
  name: string;
  uri: vscode.Uri;
  line: number;
}

/** What may stand in place of the word before the cursor, which counts UTF-16 units of `text`. */
export async function complete(
  server: Server,
  params: { sessionId: string; text: string; cursor: number },
): Promise<Completion[]> {
  const word = SYMBOL.exec(params.text.slice(0, params.cursor))?.[1];
  if (word === undefined) {
    return (await server.request("marvin/complete", params)).items;
  }
  const found = [...(await ofDocument(word)), ...(await ofWorkspace(word))].map(shown);
  return [...new Map(found.map((item) => [item.insertText, item])).values()].slice(0, MOST);
}

function shown({ name, uri, line }: Found): Completion {
  const place = `${vscode.workspace.asRelativePath(uri)}:${line + 1}`;
  return { label: name, insertText: `${name} (${place})`, kind: "symbol", detail: place };
}

async function ofDocument(word: string): Promise<Found[]> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (!uri) {
    return [];
  }
  const tree = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    uri,
  );
  const all = (symbols: (vscode.DocumentSymbol | vscode.SymbolInformation)[]): Found[] =>
    symbols.flatMap((symbol) =>
      "children" in symbol
        ? [{ name: symbol.name, uri, line: symbol.selectionRange.start.line }, ...all(symbol.children)]
        : [{ name: symbol.name, uri, line: symbol.location.range.start.line }],
    );
  return all(tree ?? []).filter(({ name }) => name.toLowerCase().includes(word.toLowerCase()));
}

async function ofWorkspace(word: string): Promise<Found[]> {
  const symbols = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    "vscode.executeWorkspaceSymbolProvider",
    word,
  );
  return (symbols ?? []).map(({ name, location }) => ({ name, uri: location.uri, line: location.range.start.line }));
}
