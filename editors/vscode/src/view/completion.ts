/** What can be completed at the cursor of the input: `@file`, `#symbol`, and `/command` where the text begins. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Completion } from "../protocol";
import { request } from "./host";

const PAUSE_MS = 80;

/** Where the word that ends at the cursor begins, if it is one that can be completed. */
export function wordStart(text: string, cursor: number): number | undefined {
  const start = text.slice(0, cursor).search(/\S*$/);
  const first = text[start];
  const isOne = first === "@" || first === "#" || (first === "/" && text.slice(0, start).trim() === "");
  return isOne ? start : undefined;
}

/** The text with the word at the cursor replaced, and where the cursor is then. */
export function completed(text: string, cursor: number, item: Completion): { text: string; cursor: number } {
  const start = wordStart(text, cursor) ?? cursor;
  // One can go on into a folder; all else is a word of its own.
  const inserted = item.kind === "folder" ? item.insertText : `${item.insertText} `;
  return { text: text.slice(0, start) + inserted + text.slice(cursor), cursor: start + inserted.length };
}

export interface Offer {
  items: Completion[];
  /** Of the one that is chosen. */
  at: number;
}

/** Asks after each pause; `offer` is undefined while nothing is offered. */
export function useCompletion(sessionId: string): {
  offer: Offer | undefined;
  ask(text: string, cursor: number): void;
  move(step: number): void;
  close(): void;
} {
  const [offer, setOffer] = useState<Offer>();
  const asked = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const forget = () => {
    clearTimeout(timer.current);
    asked.current += 1;
  };
  const close = () => {
    forget();
    setOffer(undefined);
  };
  useEffect(() => close, [sessionId]);
  return {
    offer,
    close,
    ask(text, cursor) {
      if (wordStart(text, cursor) === undefined) {
        close();
        return;
      }
      clearTimeout(timer.current);
      const mine = (asked.current += 1);
      timer.current = setTimeout(() => {
        const take = (items: Completion[]) => {
          if (mine === asked.current) {
            setOffer(items.length > 0 ? { items, at: 0 } : undefined);
          }
        };
        // Nobody needs to be told that a list did not come.
        request("complete", { sessionId, text, cursor }).then(take, () => take([]));
      }, PAUSE_MS);
    },
    move(step) {
      // Who chooses in a list is not given another one meanwhile.
      forget();
      setOffer((now) => now && { ...now, at: (now.at + step + now.items.length) % now.items.length });
    },
  };
}
