/** What a session is called. */
export function titleOf({ title }: { title: string }): string {
  return title || "New session";
}
