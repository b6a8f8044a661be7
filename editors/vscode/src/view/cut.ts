/** Where a block that goes on and on may be parted, so that what is drawn of it already is never drawn again. */
import type { Token } from "markdown-it";

export interface Cut {
  /** So much of the text is of the first part. */
  at: number;
  /** What has to stand before the rest for it to be read as more of the same. */
  head: string;
  /** The type of token that the rest begins with. */
  type: string;
}

/** `tokens` are those of one open block, whose text is `text`; undefined where it has to stay in one piece. */
export function cutOf(tokens: readonly Token[], text: string): Cut | undefined {
  const type = tokens[0]?.type ?? "";
  switch (type) {
    case "paragraph_open":
      return cut(text.lastIndexOf("\n") + 1 || text.lastIndexOf(" ") + 1 || text.length, type);
    case "table_open":
      return cut(text.lastIndexOf("\n") + 1, type, text.slice(0, offsetOf(text, 2)));
    case "bullet_list_open":
    case "ordered_list_open":
      return cut(offsetOf(text, lastChild(tokens)?.map?.[0] ?? 0), type);
    case "blockquote_open": {
      const child = lastChild(tokens);
      const line = child?.map?.[0] ?? 0;
      const isLong = line === 0 && child?.type === "paragraph_open";
      return cut(isLong ? text.lastIndexOf("\n") + 1 : offsetOf(text, line), type);
    }
    default:
      return undefined;
  }
}

/** The place where a line begins, counted from 0. */
export function offsetOf(text: string, line: number): number {
  let at = 0;
  for (let count = 0; count < line; count += 1) {
    at = text.indexOf("\n", at) + 1;
  }
  return at;
}

function cut(at: number, type: string, head = ""): Cut | undefined {
  return at > head.length ? { at, head, type } : undefined;
}

function lastChild(tokens: readonly Token[]): Token | undefined {
  return tokens.findLast((token) => token.level === 1 && token.nesting >= 0 && token.map !== null);
}
