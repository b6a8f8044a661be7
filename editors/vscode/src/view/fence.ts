/** Code that has become too long to be drawn anew for each word: it grows at its end, without colours there. */
import type { Token } from "markdown-it";

/** A piece that is this long is laid out for the last time. */
const PIECE = 4_096;

export class LongFence {
  private readonly language: string;
  private code: string;
  private last: HTMLElement;

  constructor(
    { info, content }: Token,
    private readonly element: HTMLElement,
  ) {
    this.language = info;
    this.code = content;
    this.last = element;
  }

  /** Make it this fence; false where it is another one. */
  grow({ info, content }: Token): boolean {
    if (info !== this.language || !content.startsWith(this.code)) {
      return false;
    }
    const added = content.slice(this.code.length);
    const restOfLine = this.code.endsWith("\n") ? 0 : added.indexOf("\n") + 1;
    const isAtLine = restOfLine > 0 || this.code.endsWith("\n");
    if (isAtLine && (this.last === this.element || (this.last.textContent?.length ?? 0) > PIECE)) {
      this.last.append(added.slice(0, restOfLine));
      this.last = document.createElement("span");
      this.last.className = "piece";
      this.last.append(added.slice(restOfLine));
      this.element.append(this.last);
    } else {
      this.last.append(added);
    }
    this.code = content;
    return true;
  }
}
