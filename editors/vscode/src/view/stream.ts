/**
 * A text that grows, as Markdown in the page. Blocks that are closed are drawn once and left alone; only the last one
 * is drawn anew, and parted when it is long, so that a long answer costs no more at its end than at its beginning.
 */
import type { Token } from "markdown-it";
import { cutOf, offsetOf, type Cut } from "./cut";
import { LongFence } from "./fence";
import { inFrames } from "./frames";
import { parsed, rendered } from "./markdown";

/** How much new text is taken in one go. */
const SLICE = 4_096;
/** An open block above this is not drawn anew for each word. */
const LARGE = 4_096;

export class MarkdownStream {
  private text = "";
  private isWhole = false;
  /** How much of the text is drawn, and how much of it in closed blocks. */
  private taken = 0;
  private closed = 0;
  private env = {};
  /** What the text after the closed blocks goes on with. */
  private part: Cut | undefined;
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
      this.part = undefined;
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
    this.take(isLast && this.isWhole);
    return !isLast;
  };

  private take(isWhole: boolean): void {
    const tail = this.text.slice(this.closed, this.taken);
    if (tail.startsWith("\n")) {
      // However often a block was parted, an empty line ends it.
      this.part = undefined;
    }
    const head = this.part?.head ?? "";
    const tokens = tail === "" ? [] : this.parsed(head + tail);
    const from = isWhole ? tokens.length : this.openFrom(tokens);
    const line = tokens[from]?.map?.[0];
    const cut = from <= 0 && tail.length > LARGE ? cutOf(tokens, head + tail) : undefined;
    if (cut) {
      const parted = this.parsed((head + tail).slice(0, cut.at));
      parted[0]?.attrJoin("class", "parted");
      this.close(parted, cut.at - head.length, cut);
    } else if (from > 0) {
      this.close(tokens.slice(0, from), line === undefined ? tail.length : offsetOf(head + tail, line) - head.length);
    } else {
      this.drawOpen(tokens);
      return;
    }
    this.take(false);
  }

  /** The first token is marked where it goes on with a block that was parted. */
  private parsed(text: string): Token[] {
    const tokens = parsed(text, this.env);
    if (tokens[0] && tokens[0].type === this.part?.type) {
      tokens[0].attrJoin("class", "continued");
    }
    return tokens;
  }

  /** The index of the last block's first token. */
  private openFrom(tokens: Token[]): number {
    return tokens.findLastIndex((token) => token.level === 0 && token.nesting >= 0 && token.map !== null);
  }

  /** Draw what will not change any more, which is so much of the text; `part` is what the rest goes on with. */
  private close(tokens: Token[], size: number, part?: Cut): void {
    const [first, ...others] = tokens;
    if (first?.type === "fence" && this.fence?.grow(first)) {
      this.open.before(...this.open.childNodes);
      this.open.insertAdjacentHTML("beforebegin", rendered(others, this.env));
    } else {
      this.open.insertAdjacentHTML("beforebegin", rendered(tokens, this.env));
    }
    this.closed += size;
    this.part = part;
    this.fence = undefined;
  }

  private drawOpen(tokens: Token[]): void {
    const [first] = tokens;
    if (first?.type === "fence" && this.fence?.grow(first)) {
      return;
    }
    this.open.innerHTML = rendered(tokens, this.env);
    const code = this.open.querySelector("code");
    const isLong = first?.type === "fence" && first.content.length > LARGE;
    this.fence = isLong && code ? new LongFence(first, code) : undefined;
  }
}
