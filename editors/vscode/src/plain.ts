/** Text of others where VS Code would read more into it than its letters: links, pictures, characters that hide. */

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;
/** What a box shows otherwise than it is: hidden characters, links, and spaces, of which it shows one for several. */
const INEXACT = /[\p{C}\u2028\u2029]|\]\(|[^\S ]|^ | $| {2}/u;

/** The text for a message or a title: no part of it is a link, and hidden characters are seen as `\u{202e}`. */
export function plain(text: string): string {
  return text
    .trim()
    .replace(/\s*[\n\t]\s*/g, " ")
    .replace(HIDDEN, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
    .replaceAll("](", "] (");
}

/** Whether a box shows this line exactly as it is. */
export function isExact(line: string): boolean {
  return !INEXACT.test(line);
}

/** The lines as code in Markdown, whatever they are. */
export function fenced(lines: readonly string[], language: string): string {
  const text = lines.join("\n");
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
