/** What messages and stored items are in a transcript. */
import type { Item as StoredItem, Message } from "../protocol";
import type { Added, End, Item, Prompt, Prose } from "./item";
import { put } from "./list";

/** Stands before the first piece, and is said to the model. */
const FOR_THE_MODEL = /^\[From the editor\..*\n+/;

/** What Marvin itself tells the model, in the place of the person. */
const FROM_MARVIN = /^\[Marvin: ([^]*)\]$/;

/** With what a finished message says; the results of tools are told by their own events. */
export function messageOf(items: readonly Item[], message: Message): readonly Item[] {
  if (message.role === "tool") {
    return items;
  }
  const text = said(message, "text");
  if (message.role === "user") {
    const told = FROM_MARVIN.exec(text)?.[1];
    return told === undefined
      ? put(items, promptOf(message))
      : put(items, { kind: "note", id: message.id, level: "note", text: `The model is told: ${told}` });
  }
  const thought = said(message, "thinking");
  const next = thought ? prose(items, "thought", message.id, thought) : thoughtOver(items, message.id);
  return text || next.some((item) => item.kind === "answer" && item.id === message.id)
    ? prose(next, "answer", message.id, text)
    : next;
}

/** A message of the person, parted from what the editor sent along. */
export function promptOf(message: Message): Prompt {
  return {
    kind: "prompt",
    id: message.id,
    text: said(message, "text"),
    context: message.parts.flatMap(addedBy),
    images: message.parts.filter((part) => part.type === "image"),
  };
}

function addedBy(part: Message["parts"][number]): Added[] {
  return part.type === "text" && part.label !== undefined
    ? [{ label: part.label, text: part.text.trim().replace(FOR_THE_MODEL, "") }]
    : [];
}

/** What the person, or the model, said or thought. */
function said(message: Message, type: "text" | "thinking"): string {
  return message.parts.map((part) => (part.type === type && !("label" in part) ? part.text : "")).join("");
}

/** All text of a message, as the model reads it. */
export function textOf(message: Message): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/**
 * The items of a page of the store, and the end of each turn of it that is over.
 *
 * @param running the turn that is not
 */
export function page(items: readonly StoredItem[], running: string | undefined): Item[] {
  return items.flatMap((item, at) => {
    const { turnId } = item;
    const isOver = turnId !== undefined && turnId !== running && items[at + 1]?.turnId !== turnId;
    return isOver ? [...stored(item), endOf(turnId, items)] : stored(item);
  });
}

/** The store does not say which tools change files: one that ran may have. */
function endOf(turnId: string, items: readonly StoredItem[]): End {
  const hasChanges = items.some(
    (each) => each.turnId === turnId && each.kind === "toolCall" && each.status !== "denied",
  );
  return { kind: "end", id: turnId, stopReason: "completed", hasChanges };
}

/** The items of one item of the store. */
function stored(item: StoredItem): Item[] {
  if (item.kind === "message") {
    return [...messageOf([], item.message)];
  }
  if (item.kind === "toolCall") {
    const { id, name, input, status, output } = item;
    return [{ kind: "tool", id, name, title: titleOf(name, input), input, status, output: output ?? "" }];
  }
  return item.kind === "compaction" ? [{ kind: "compaction", id: item.id, compaction: item.compaction }] : [];
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
