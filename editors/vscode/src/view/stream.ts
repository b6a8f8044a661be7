/**
 * A text that grows, as Markdown in the page. Blocks that are closed are drawn once and left alone; only the last one
 * is drawn anew, so that a long answer costs no more at its end than at its beginning.
 */
import type { Token } from "markdown-it";
import { LongFence } from "./fence";
import { inFrames } from "./frames";
import { parsed, rendered } from "./markdown";

/** How much new text is taken in one go. */
const SLICE = 16_384;
/** An open block above this is not drawn anew for each word. */
const LARGE = 8_192;

export class MarkdownStream {
  private text = "";
  private isWhole = false;
  /** How much of the text is drawn, and how much of it in closed blocks. */
  private taken = 0;
  private closed = 0;
  private env = {};
  private continuesList = false;
  private readonly open = document.createElement("div");
  private fence: LongFence | undefined;

  constructor(private readonly root: HTMLElement) {
    this.open.className = "open";
    root.append(this.open);
  }

  /** From now on it is this text; more may follow unless `isWhole`. */
  update(text: string, isWhole: boolean): void {
    if (text === this.text && isWhole === this.isWhole) {
      return;
    }
    if (!text.startsWith(this.text)) {
      this.root.replaceChildren(this.open);
      this.open.replaceChildren();
      this.taken = this.closed = 0;
      this.env = {};
      this.continuesList = false;
      this.fence = undefined;
    }
    this.text = text;
    this.isWhole = isWhole;
    inFrames(this.draw);
  }

  /** Draw some more; true while there is more to draw. */
  private readonly draw = (): boolean => {
    const isLast = this.text.length - this.taken <= SLICE;
    const size = this.taken - this.closed;
    const grown = this.text.length - this.taken;
    if (size > LARGE && grown < size / 8 && !this.isWhole && !this.fence) {
      return false;
    }
    this.taken = Math.min(this.text.length, this.taken + SLICE);
    this.take(this.text.slice(this.closed, this.taken), isLast && this.isWhole);
    return !isLast;
  };

  private take(tail: string, isWhole: boolean): void {
    const tokens = parsed(tail, this.env);
    if (this.continuesList && tokens[0]?.type.endsWith("list_open")) {
      tokens[0].attrJoin("class", "continued");
    }
    const from = isWhole ? tokens.length : this.openFrom(tokens);
    if (from > 0) {
      this.close(tokens.slice(0, from), tail, isWhole ? undefined : tokens[from]?.map?.[0]);
    }
    const rest = tokens.slice(from);
    const [list, item] = rest;
    const start = list?.type.endsWith("list_open") && tail.length > LARGE ? lastItem(rest) : 0;
    if (list && item && start > 1) {
      this.close([...rest.slice(0, start), ...rest.slice(-1)], tail, rest[start]?.map?.[0]);
      this.continuesList = true;
      this.take(this.text.slice(this.closed, this.taken), false);
      return;
    }
    this.drawOpen(rest);
  }

  /** The index of the last block's first token. */
  private openFrom(tokens: Token[]): number {
    return tokens.findLastIndex((token) => token.level === 0 && token.nesting >= 0 && token.map !== null);
  }

  /** Draw what will not change any more, up to a line of the tail, or all of it. */
  private close(tokens: Token[], tail: string, line: number | undefined): void {
    const [first, ...others] = tokens;
    if (first?.type === "fence" && this.fence?.grow(first)) {
      this.open.before(...this.open.childNodes);
      this.open.insertAdjacentHTML("beforebegin", rendered(others, this.env));
    } else {
      this.open.insertAdjacentHTML("beforebegin", rendered(tokens, this.env));
    }
    this.closed += line === undefined ? tail.length : offsetOf(tail, line);
    this.continuesList = false;
    this.fence = undefined;
  }

  private drawOpen(tokens: Token[]): void {
    const [first] = tokens;
    if (first?.type === "fence" && this.fence?.grow(first)) {
      return;
    }
    this.open.innerHTML = rendered(tokens, this.env);
    const code = this.open.querySelector("code");
    const isLong = first?.type === "fence" && first.content.length > LARGE / 2;
    this.fence = isLong && code ? new LongFence(first, code) : undefined;
  }
}

function lastItem(tokens: Token[]): number {
  return tokens.findLastIndex((token) => token.type === "list_item_open" && token.level === 1);
}

function offsetOf(text: string, line: number): number {
  let at = 0;
  for (let count = 0; count < line; count += 1) {
    at = text.indexOf("\n", at) + 1;
  }
  return at;
}
