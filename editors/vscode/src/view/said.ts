/** What messages and stored items are in a transcript. */
import type { Item as StoredItem, Message } from "../protocol";
import type { Item, Prompt, Prose } from "./item";
import { put } from "./list";

const CONTEXT_MARK = "\n\n[From the editor.";

/** With what a finished message says; the results of tools are told by their own events. */
export function messageOf(items: readonly Item[], message: Message): readonly Item[] {
  if (message.role === "tool") {
    return items;
  }
  const text = said(message, "text");
  if (message.role === "user") {
    return put(items, promptOf(message));
  }
  const thought = said(message, "thinking");
  const next = thought ? prose(items, "thought", message.id, thought) : thoughtOver(items, message.id);
  return text || next.some((item) => item.kind === "answer" && item.id === message.id)
    ? prose(next, "answer", message.id, text)
    : next;
}

/** A message of the person, parted from what the editor sent along. */
export function promptOf(message: Message): Prompt {
  const text = said(message, "text");
  const at = text.indexOf(CONTEXT_MARK);
  return {
    kind: "prompt",
    id: message.id,
    text: at < 0 ? text : text.slice(0, at),
    context: at < 0 ? "" : text.slice(at + 2),
    images: message.parts.filter((part) => part.type === "image"),
  };
}

function said(message: Message, type: "text" | "thinking"): string {
  return message.parts.map((part) => (part.type === type ? part.text : "")).join("");
}

/** The items of one item of the store. */
export function stored(item: StoredItem): Item[] {
  if (item.kind === "message") {
    return [...messageOf([], item.message)];
  }
  if (item.kind === "toolCall") {
    const { id, name, input, status, output } = item;
    return [{ kind: "tool", id, name, title: titleOf(name, input), input, status, output: output ?? "" }];
  }
  return [];
}

/** A stored call has no title: the argument that says most. */
function titleOf(name: string, input: unknown): string {
  if (typeof input === "object" && input !== null) {
    const { command, path } = input as Record<string, unknown>;
    if (typeof command === "string") {
      return command;
    }
    if (typeof path === "string") {
      return `${name} ${path}`;
    }
  }
  return name;
}

/** With more of a message or thought that is being written. */
export function grown(items: readonly Item[], kind: Prose["kind"], id: string, text: string): readonly Item[] {
  const before = items.findLast((item) => item.kind === kind && item.id === id);
  const begun = before?.kind === kind ? before.text : "";
  return put(items, { kind, id, text: begun + text, isWhole: false });
}

/** With the whole of a message or thought. */
export function prose(items: readonly Item[], kind: Prose["kind"], id: string, text: string): readonly Item[] {
  return put(items, { kind, id, text, isWhole: true });
}

/** A thought ends where its answer begins, and with its turn, whether or not its end is told. */
export function thoughtOver(items: readonly Item[], id?: string): readonly Item[] {
  const at = items.findLastIndex((item) => item.kind === "thought" && !item.isWhole && (!id || item.id === id));
  return at < 0 ? items : items.with(at, { ...(items[at] as Prose), isWhole: true });
}
