/** Lists that are never changed: each function gives another one, with the items that it does not touch. */
import type { Item } from "./item";

/** Without what has this id. */
export function without<T extends { id: string }>(list: readonly T[], id: string): T[] {
  return list.filter((each) => each.id !== id);
}

/** In the place of the item of the same kind and id, else at the end. */
export function put(items: readonly Item[], item: Item): Item[] {
  const at = items.findLastIndex((each) => each.kind === item.kind && each.id === item.id);
  return at < 0 ? [...items, item] : items.with(at, item);
}

/** Behind the item with the id `neighbour`, else at the end. */
export function placed(items: readonly Item[], item: Item, neighbour: string | undefined): Item[] {
  const at = items.findLastIndex((each) => each.id === neighbour);
  return at < 0 ? [...items, item] : items.toSpliced(at + 1, 0, item);
}

/** With another item in the place of the one of this kind and id, where there is one. */
export function changed<K extends Item["kind"]>(
  items: readonly Item[],
  kind: K,
  id: string,
  change: (item: Extract<Item, { kind: K }>) => Item,
): readonly Item[] {
  const at = items.findLastIndex((item) => item.kind === kind && item.id === id);
  return at < 0 ? items : items.with(at, change(items[at] as Extract<Item, { kind: K }>));
}
