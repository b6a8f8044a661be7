/**
 * Markdown of a model as HTML that can do nothing by itself: no HTML of its own, no images, no styles, and no address
 * but those below. What can be clicked is told by attributes, for one listener to act on: `data-link` (a URL),
 * `data-path` and `data-line` (a file), `data-do` (`copy` or `insert`, in a `figure` with the code).
 */
import MarkdownIt, { type Token } from "markdown-it";
import { highlighted } from "./highlight";

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const PATH = /^(?=.*[/:])(\.{0,2}\/?[\w@.+-]+(?:\/[\w@.+-]+)*\.\w+)(?::(\d+))?(?::\d+)?$/;
const TASK = /^\[([ xX])\] /;
const ALIGNED = /text-align:(\w+)/;

const md = new MarkdownIt({ html: false, linkify: true });
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
md.validateLink = (url) => !SCHEME.test(url) || /^(https?|mailto):/i.test(url);
const escape = md.utils.escapeHtml;

function linkTo(url: string): string {
  if (SCHEME.test(url)) {
    return `href="${escape(url)}" data-link="${escape(url)}" title="${escape(url)}"`;
  }
  const [path = "", place = ""] = url.split("#", 2);
  const line = /^L?(\d+)/.exec(place)?.[1] ?? /:(\d+)$/.exec(path)?.[1];
  const file = path.replace(/:\d+$/, "");
  return `href="#" data-path="${escape(decoded(file))}"${line ? ` data-line="${line}"` : ""}`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** A block of code with what can be done with it. `language` is as the model wrote it, and may be empty. */
export function codeBlock(code: string, language: string): string {
  const body = highlighted(code, language.toLowerCase()) ?? escape(code);
  const name = language || "text";
  return (
    `<figure class="code"><figcaption><span>${escape(name)}</span>` +
    `<button type="button" data-do="insert" title="Insert at the cursor">Insert</button>` +
    `<button type="button" data-do="copy">Copy</button></figcaption>` +
    `<pre tabindex="0" role="group" aria-label="Code, ${escape(name)}"><code>${body}</code></pre></figure>`
  );
}

md.renderer.rules.link_open = (tokens, at) => `<a ${linkTo(String(tokens[at]?.attrGet("href") ?? ""))}>`;
md.renderer.rules.image = (tokens, at) =>
  `<a ${linkTo(String(tokens[at]?.attrGet("src") ?? ""))}>${escape(tokens[at]?.content || "image")}</a>`;
md.renderer.rules.fence = (tokens, at) =>
  codeBlock(tokens[at]?.content ?? "", /^\S*/.exec(tokens[at]?.info.trim() ?? "")?.[0] ?? "");
md.renderer.rules.code_block = (tokens, at) => codeBlock(tokens[at]?.content ?? "", "");
md.renderer.rules.code_inline = (tokens, at) => {
  const code = tokens[at]?.content ?? "";
  const [, path, line] = PATH.exec(code) ?? [];
  const shown = `<code>${escape(code)}</code>`;
  return path ? `<a ${linkTo(line ? `${path}#L${line}` : path)}>${shown}</a>` : shown;
};
md.renderer.rules.table_open = (tokens, at) =>
  `<div class="table ${tokens[at]?.attrGet("class") ?? ""}" tabindex="0" role="group" aria-label="Table"><table>`;
md.renderer.rules.table_close = () => "</table></div>";
for (const cell of ["th", "td"]) {
  md.renderer.rules[`${cell}_open`] = (tokens, at) => {
    const side = ALIGNED.exec(String(tokens[at]?.attrGet("style") ?? ""))?.[1];
    return side ? `<${cell} class="${side}">` : `<${cell}>`;
  };
}
// The page has the headings above these.
for (const rule of ["heading_open", "heading_close"]) {
  md.renderer.rules[rule] = (tokens, at) => {
    const level = Number(tokens[at]?.tag.slice(1) ?? 1);
    return rule === "heading_open" ? `<h${Math.min(level + 2, 6)} class="h${level}">` : `</h${Math.min(level + 2, 6)}>`;
  };
}

md.core.ruler.push("tasks", ({ tokens }) => {
  for (const [at, { type, children }] of tokens.entries()) {
    const first = children?.[0];
    if (type === "inline" && first?.type === "text" && tokens[at - 2]?.type === "list_item_open") {
      first.content = first.content.replace(TASK, (_, mark: string) => (mark === " " ? "☐ " : "☑ "));
    }
  }
});

/** The tokens of a text. Link definitions that were seen in `env` before hold in it. */
export function parsed(text: string, env: object): Token[] {
  return md.parse(text, env);
}

export function rendered(tokens: Token[], env: object): string {
  return md.renderer.render(tokens, md.options, env);
}
