/** The transcript on the page: what was said, what waits, and what Marvin does now. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Draft as StoredDraft } from "../protocol";
import { undecided } from "./change";
import { useFollow } from "./follow";
import { rove } from "./focus";
import { post } from "./host";
import { Icon } from "./icons";
import { ItemView, Said } from "./items";
import { draftOf, EMPTY, type Sent, type State } from "./state";
import { loadOlder, takeBack } from "./store";
import type { Item } from "./item";
import type { Transcript } from "./transcript";
import { Welcome } from "./welcome";
import { duration } from "./words";

export function Conversation({ state, transcript }: { state: State; transcript: Transcript }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const top = useRef<HTMLDivElement>(null);
  const sessionId = transcript.session.id;
  const newest = useRef(0);
  newest.current = state.sent.at(-1)?.key ?? newest.current;
  const { isBelow, toEnd } = useFollow(box, content, newest.current);
  const shown = useMemo(() => withoutDoubles(transcript.items), [transcript.items]);
  const isEmpty = shown.length === 0 && state.sent.length + transcript.queued.length + transcript.drafts.length === 0;

  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && loadOlder(), {
      root: box.current,
      rootMargin: "600px 0px 0px 0px",
    });
    observer.observe(top.current as HTMLElement);
    return () => observer.disconnect();
  }, [transcript.cursor]);
  const first = shown[0]?.id;
  const before = useRef({ first, height: 0 });
  useLayoutEffect(() => {
    // At its very top the browser would not hold the text in place when some is put before it.
    const outer = box.current as HTMLElement;
    if (first !== before.current.first && outer.scrollTop === 0 && before.current.height > 0) {
      outer.scrollTop = outer.scrollHeight - before.current.height;
    }
    before.current = { first, height: outer.scrollHeight };
  }, [shown]);

  return (
    <div class="conversation">
      <div
        class="scroll"
        ref={box}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
        onClick={act}
        onKeyDown={(event) => {
          if (event.altKey) {
            rove(event, event.currentTarget, "article");
          }
        }}
      >
        <div class="content" ref={content}>
          <div ref={top}>
            {transcript.cursor !== undefined && <p class="hint centre">Loading what was said before…</p>}
          </div>
          {isEmpty && <Welcome />}
          {shown.map((item) => (
            <ItemView key={`${item.kind} ${item.id}`} item={item} sessionId={sessionId} />
          ))}
          {transcript.queued.map(({ turnId, message }) => (
            <Waiting key={turnId} sent={{ ...draftOf(message), turnId, state: "queued" }} />
          ))}
          {state.sent.map((each) => (
            <Waiting key={each.key} sent={each} />
          ))}
          {transcript.drafts.map((draft) => (
            <NeverSent key={draft.id} draft={draft} />
          ))}
          {transcript.turnId !== undefined ? (
            <Working key={transcript.turnId} transcript={transcript} />
          ) : (
            transcript.session.busy && (
              <p class="working">
                {transcript.session.activity === "summarising"
                  ? "Marvin summarises what was said."
                  : "Marvin works in this session from another window."}
              </p>
            )
          )}
        </div>
      </div>
      {isBelow && (
        <button type="button" class="below" onClick={toEnd}>
          <Icon name="down" /> New text below
        </button>
      )}
    </div>
  );
}

/** A patch says all that its tool call would, as long as the call went well. */
function withoutDoubles(items: readonly Item[]): Item[] {
  const patched = new Set(items.map((item) => (item.kind === "change" ? item.patch.toolCallId : undefined)));
  return items.filter((item) => item.kind !== "tool" || !patched.has(item.id) || !/ok|running/.test(item.status));
}

/** What the links and buttons inside of Markdown do. */
function act(event: MouseEvent): void {
  const target = event.target as Element;
  const button = target.closest<HTMLElement>("[data-do]");
  const link = target.closest<HTMLElement>("a");
  if (button) {
    const text = button.closest("figure")?.querySelector("code")?.textContent ?? "";
    post(button.dataset["do"] === "copy" ? { type: "copy", text } : { type: "insertAtCursor", text });
    if (button.dataset["do"] === "copy") {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    }
  } else if (link) {
    // The frame around the page would follow the address by itself.
    event.preventDefault();
    event.stopPropagation();
    const { link: url, path, line } = link.dataset;
    if (url !== undefined) {
      post({ type: "openLink", url });
    } else if (path !== undefined) {
      post({ type: "openPath", path, ...(line !== undefined && { line: Number(line) }) });
    }
  }
}

const WAITS: Record<Sent["state"], string> = {
  sending: "Sending…",
  running: "",
  queued: "Waits until this turn has ended",
  steered: "Goes into this turn with its next round",
};

function Waiting({ sent }: { sent: Omit<Sent, "key"> }): JSX.Element {
  const { turnId } = sent;
  return (
    <article class="prompt waiting" aria-label="You, not yet read" tabIndex={-1}>
      <Said text={sent.text} pictures={sent.pictures} />
      <div class="actions always">
        <span class="hint">{WAITS[sent.state]}</span>
        {sent.state === "queued" && turnId !== undefined && (
          <button type="button" class="quiet" onClick={() => void takeBack(turnId, sent)}>
            Take back
          </button>
        )}
      </div>
    </article>
  );
}

function NeverSent({ draft }: { draft: StoredDraft }): JSX.Element {
  const words = draftOf(draft.message);
  return (
    <article class="prompt waiting" aria-label="Never sent" tabIndex={-1}>
      <Said text={words.text} pictures={words.pictures} />
      <div class="actions always">
        <span class="hint">This was never sent.</span>
        <button type="button" class="quiet" onClick={() => void takeBack(draft.id, words)}>
          Put it into the input
        </button>
        <button type="button" class="quiet" onClick={() => void takeBack(draft.id, EMPTY)}>
          Drop
        </button>
      </div>
    </article>
  );
}

/** What Marvin does now, in words, and for how long this turn has been going. */
function Working({ transcript }: { transcript: Transcript }): JSX.Element {
  const begun = useRef(Date.now());
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setPassed(Date.now() - begun.current), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="working">
      <span class="pulse" aria-hidden="true" />
      {doing(transcript)}
      {passed >= 2000 && <span class="passed">{duration(Math.round(passed / 1000) * 1000).replace(".0", "")}</span>}
    </p>
  );
}

export function doing({ items, questions }: Transcript): string {
  const last = items.at(-1);
  if (questions.length > 0) {
    return "Waits for your answer";
  }
  if (items.some((item) => item.kind === "change" && item.isProposed && undecided(item).length > 0)) {
    return "Waits for your review";
  }
  if (items.some((item) => item.kind === "tool" && item.status === "running")) {
    return "Runs a tool";
  }
  if (last?.kind === "thought" && !last.isWhole) {
    return "Thinks";
  }
  return last?.kind === "answer" && !last.isWhole ? "Writes" : "Waits for the model";
}
