/** Small drawings, in the colour of the text; what they mean is always said in words beside them or in a label. */
import type { JSX } from "preact";

const PATHS = {
  add: "M8 3v10M3 8h10",
  sessions: "M8 4.5V8l2.5 1.5M2.5 8a5.5 5.5 0 1 0 1.6-3.9L2.5 5.7M2.5 2.7v3h3",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  close: "M4 4l8 8M12 4l-8 8",
  send: "M8 13V3.5M3.8 7.5L8 3.2l4.2 4.3",
  stop: "M4.5 4.5h7v7h-7z",
  back: "M9.5 3.5L5 8l4.5 4.5",
  chevron: "M6 4l4 4-4 4",
  down: "M8 3v9.5M4 8.8L8 12.8l4-4",
  read: "M4 2.5h5.2L12 5.3v8.2H4zM9 2.5v3h3",
  edit: "M3 13l.6-2.8 7-7 2.2 2.2-7 7z",
  execute: "M2.5 3.5h11v9h-11zM5 6.3L6.8 8 5 9.7M8.5 10h2.5",
  network: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM2.6 8h10.8M8 2.5c3.4 3.4 3.4 7.6 0 11-3.4-3.4-3.4-7.6 0-11z",
  message: "M2.5 3.5h11v7.5H8l-3 2.5V11H2.5z",
  thought: "M8 2.5a4 4 0 0 0-2.3 7.3c.5.4.8.9.8 1.4h3c0-.5.3-1 .8-1.4A4 4 0 0 0 8 2.5zM6.5 13.3h3",
  question: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.3 6.5a1.7 1.7 0 1 1 2.3 1.6c-.4.2-.6.4-.6.8v.3M8 11.3h.01",
  warning: "M8 2.8l5.8 10.4H2.2zM8 6.5v3M8 11.4h.01",
  note: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 7.5v3.3M8 5.3h.01",
  summary: "M2.5 5.5h11M2.5 10.5h11M8 1v3M6.5 2.7L8 4.2l1.5-1.5M8 15v-3M6.5 13.3L8 11.8l1.5 1.5",
  check: "M3.5 8.5l3 3 6-7",
  undo: "M5.5 3L2.5 6l3 3M2.5 6h6.8a3.7 3.7 0 0 1 0 7.4H6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
