/** Going back and forth through what was said before, without losing what is being typed. */
import { useRef } from "preact/hooks";

export interface History {
  /** What to show instead of `text`; undefined where there is nothing further. */
  step(by: -1 | 1, text: string): string | undefined;
  /** Whether `text` came from here and was not changed since. */
  shows(text: string): boolean;
}

/** @param said prompts, the latest last */
export function useHistory(said: readonly string[]): History {
  const place = useRef<{ back: number; typed: string; shown: string }>(undefined);
  return {
    shows: (text) => place.current?.shown === text,
    step(by, text) {
      const now = place.current?.shown === text ? place.current : { back: 0, typed: text, shown: text };
      const back = now.back - by;
      if (back < 0 || back > said.length) {
        return undefined;
      }
      const shown = back === 0 ? now.typed : (said.at(-back) ?? "");
      place.current = back === 0 ? undefined : { back, typed: now.typed, shown };
      return shown;
    },
  };
}
