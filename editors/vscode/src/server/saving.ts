/** Answers `marvin/document/save`: open documents are written before a command reads their files. */
import * as vscode from "vscode";
import type { DocumentSaveParams, DocumentSaveResult } from "../protocol";

export async function save({ uris }: DocumentSaveParams): Promise<DocumentSaveResult> {
  const saved = await Promise.all(uris.map(async (uri) => ((await isSaved(vscode.Uri.parse(uri))) ? [uri] : [])));
  return { saved: saved.flat() };
}

async function isSaved(uri: vscode.Uri): Promise<boolean> {
  const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  return document !== undefined && (!document.isDirty || (await document.save()));
}
