/**
 * Writes src/protocol.ts from docs/protocol.schema.json: every type by its own name, and the methods with what they
 * take and give. `--check` writes nothing and fails when the file is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import { format } from "prettier";

const target = new URL("../src/protocol.ts", import.meta.url);
const schema = JSON.parse(readFileSync(new URL("../../../docs/protocol.schema.json", import.meta.url), "utf8"));

const definitions = JSON.parse(JSON.stringify(schema.$defs).replaceAll("#/$defs/", "#/definitions/"));
const properties = Object.fromEntries(
  Object.keys(definitions).map((name) => [name, { $ref: `#/definitions/${name}` }]),
);
const types = await compile({ type: "object", properties, definitions }, "All", {
  additionalProperties: false,
  bannerComment: "",
  format: false,
});

const nameOf = (type) => type.$ref.split("/").at(-1);
const methods = Object.entries(schema.methods);

/** One interface of methods; `line` gives the type of a method. */
function table(name, direction, kind, line) {
  const chosen = methods.filter(([, method]) => method.direction === direction && method.kind === kind);
  return `export interface ${name} {\n${chosen.map(([key, method]) => `"${key}": ${line(method)};`).join("\n")}\n}\n`;
}

const both = (method) => `{ params: ${nameOf(method.params)}; result: ${nameOf(method.result)} }`;
const text = await format(
  [
    "// Made from docs/protocol.schema.json by `npm run types`; not to be edited.\n",
    types.replace(/^export interface All \{[^}]*\}$/m, ""),
    "/** What the client asks the server. */",
    table("ToServer", "toServer", "request", both),
    "/** What the server asks the client. */",
    table("ToClient", "toClient", "request", both),
    "/** What the server tells the client. */",
    table("Notifications", "toClient", "notification", (method) => nameOf(method.params)),
    `export type Event = TurnEventsParams["events"][number];`,
    `export type Item = SessionLoadResult["items"][number];`,
  ].join("\n"),
  { parser: "typescript", printWidth: 120 },
);

if (!process.argv.includes("--check")) {
  writeFileSync(target, text);
} else if (readFileSync(target, "utf8") !== text) {
  console.error("src/protocol.ts is stale: run `npm run types` in editors/vscode");
  process.exit(1);
}
