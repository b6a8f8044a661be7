/** A `ref` for what is to have the focus when it appears. */
export function focused(element: HTMLElement | null): void {
  element?.focus();
}

/**
 * Move the focus among the elements that `selector` finds in a list, by the arrow keys and Home and End.
 *
 * @returns whether the key was one of them
 */
export function rove(event: KeyboardEvent, list: HTMLElement, selector: string): boolean {
  const all = [...list.querySelectorAll<HTMLElement>(selector)];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: Math.max(at - 1, 0), Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined) {
    return false;
  }
  event.preventDefault();
  all[Math.min(to, all.length - 1)]?.focus();
  return true;
}
