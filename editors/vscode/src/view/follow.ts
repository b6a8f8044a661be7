/** Keeps the end of a scrolled element in sight for as long as the person stays there. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const NEAR_PX = 32;

/**
 * @param content what grows inside `box`
 * @param anew when this changes, it begins at the end again
 * @returns `isBelow`: something new is out of sight below
 */
export function useFollow(
  box: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  anew: unknown,
): { isBelow: boolean; toEnd(): void } {
  const isAtEnd = useRef(true);
  const [isBelow, setBelow] = useState(false);
  const toEnd = () => {
    isAtEnd.current = true;
    setBelow(false);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  useEffect(toEnd, [anew]);
  useEffect(() => {
    const outer = box.current;
    const inner = content.current;
    if (!outer || !inner) {
      return undefined;
    }
    let height = inner.offsetHeight;
    let top = outer.scrollTop;
    const onScroll = () => {
      // Text that came since is no sign that the person has left: only going up is.
      const hasGoneUp = outer.scrollTop < top;
      top = outer.scrollTop;
      if (outer.scrollTop + outer.clientHeight >= outer.scrollHeight - NEAR_PX) {
        isAtEnd.current = true;
        setBelow(false);
      } else if (hasGoneUp) {
        isAtEnd.current = false;
      }
    };
    const observer = new ResizeObserver(() => {
      const hasGrown = inner.offsetHeight > height;
      height = inner.offsetHeight;
      if (isAtEnd.current) {
        outer.scrollTop = outer.scrollHeight;
        // The person may go up before the browser tells of this.
        top = outer.scrollTop;
      } else if (hasGrown) {
        setBelow(true);
      }
    });
    observer.observe(inner);
    observer.observe(outer);
    outer.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      outer.removeEventListener("scroll", onScroll);
    };
  }, []);
  return { isBelow, toEnd };
}
