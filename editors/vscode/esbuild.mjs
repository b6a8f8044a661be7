/** Bundles the extension host (dist/extension.js) and the chat view (dist/view.js, dist/view.css); `--watch` goes on. */
import * as esbuild from "esbuild";

const shared = { bundle: true, minify: true, logLevel: "info", outdir: "dist", legalComments: "none" };
const bundles = [
  {
    ...shared,
    entryPoints: { extension: "src/extension.ts" },
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    mainFields: ["module", "main"],
  },
  {
    ...shared,
    entryPoints: { view: "src/view/main.tsx" },
    platform: "browser",
    format: "iife",
    target: "chrome120",
    charset: "utf8",
    // The names of characters are read and never written here.
    alias: { entities: "entities/lib/decode.js" },
  },
];

if (process.argv.includes("--watch")) {
  for (const bundle of bundles) {
    await (await esbuild.context(bundle)).watch();
  }
} else {
  await Promise.all(bundles.map((bundle) => esbuild.build(bundle)));
}
