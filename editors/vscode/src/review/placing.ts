/** Where a hunk is in a text as it is now. */
import type { Hunk } from "../protocol";

/** Lines of a text without their ends, as an editor numbers them. */
export type Lines = readonly string[];

export interface Place {
  /** The first line of the hunk, from 0; where it has none, the line that the others would come before. */
  first: number;
  /** How many lines of the text belong to it. */
  count: number;
}

/** The side of a hunk that is in the file now, and the other one. A proposed one is not made yet. */
export function sides(hunk: Hunk, isProposed: boolean): { here: Lines; there: Lines } {
  const [old, now] = [bare(hunk.oldLines), bare(hunk.newLines)];
  return isProposed ? { here: old, there: now } : { here: now, there: old };
}

/** The place of a hunk, the nearest to where it was where its lines are there several times; undefined: nowhere. */
export function placeOf(hunk: Hunk, isProposed: boolean, text: Lines): Place | undefined {
  const { here } = sides(hunk, isProposed);
  const near = Math.max(0, (isProposed ? hunk.oldStart : hunk.newStart) - 1);
  if (here.length === 0) {
    return { first: Math.min(near, text.length), count: 0 };
  }
  let best: number | undefined;
  for (let first = 0; first + here.length <= text.length; first++) {
    const isNearer = best === undefined || Math.abs(first - near) < Math.abs(best - near);
    if (isNearer && here.every((line, index) => text[first + index] === line)) {
      best = first;
    }
  }
  return best === undefined ? undefined : { first: best, count: here.length };
}

/** The text on the other side of hunks: without those that are made, with those that are proposed. */
export function otherSide(text: Lines, hunks: readonly { hunk: Hunk; isProposed: boolean }[]): Lines {
  const placed = hunks.flatMap(({ hunk, isProposed }) => {
    const place = placeOf(hunk, isProposed, text);
    return place ? [{ place, there: sides(hunk, isProposed).there }] : [];
  });
  const result = [...text];
  for (const { place, there } of placed.sort((one, other) => other.place.first - one.place.first)) {
    result.splice(place.first, place.count, ...there);
  }
  return result;
}

export function linesOf(text: string): Lines {
  return text.split(/\r\n|\n|\r/);
}

function bare(lines: Lines): Lines {
  return lines.map((line) => line.replace(/\r?\n$|\r$/, ""));
}
