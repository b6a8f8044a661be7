/** What a screen reader is told when something changes that the person may not be looking at. */
import type { State } from "./state";
import type { Item } from "./item";
import { compacted, STOPPED } from "./words";

const MOST = 600;

/** A sentence about what is new; empty where nothing is to be said. */
export function announcement(before: State, now: State): string {
  const was = before.transcript;
  const is = now.transcript;
  if (!was || !is || was.session.id !== is.session.id) {
    return "";
  }
  const [question] = is.questions;
  if (question && question.id !== was.questions[0]?.id) {
    return `Marvin asks: ${question.command?.display ?? question.title}. The question stands before the input.`;
  }
  if (was.items.length > 0 && was.items[0] !== is.items[0]) {
    return "";
  }
  const known = new Set(was.items);
  const news = is.items.filter((item) => !known.has(item)).map(wordsOf);
  if (is.turnId !== undefined && was.turnId === undefined) {
    news.push("Marvin works.");
  }
  if (is.session.activity === "summarising" && was.session.activity === undefined) {
    news.push("Marvin summarises what was said.");
  }
  return news.filter(Boolean).join(" ");
}

function wordsOf(item: Item): string {
  switch (item.kind) {
    case "answer":
      return item.isWhole ? `Marvin: ${item.text.length > MOST ? `${item.text.slice(0, MOST)}…` : item.text}` : "";
    case "note":
      return item.text;
    case "compaction":
      return `${compacted(item.compaction)}.`;
    case "tool":
      return item.answer && item.status === "running" ? `The question was ${item.answer}.` : "";
    case "change":
      return item.isProposed && Object.keys(item.decided).length === 0
        ? `Marvin proposes a change: ${item.patch.title}.`
        : "";
    case "end":
      return item.error ?? (STOPPED[item.stopReason] || "The turn has ended.");
    default:
      return "";
  }
}
