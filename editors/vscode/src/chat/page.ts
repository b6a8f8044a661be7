/** The page of the chat view: the view's own script and style, and nothing from anywhere else. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

export function page(webview: vscode.Webview, dist: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const place = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
  const { cspSource } = webview;
  const policy = `default-src 'none'; img-src ${cspSource} data: blob:; style-src ${cspSource}; font-src ${cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${place("view.css")}">
<title>Marvin</title>
</head>
<body>
<div id="root"></div>
<script nonce="${nonce}" src="${place("view.js")}"></script>
</body>
</html>`;
}
