/** The state of the page, and what the person can do to it. Whoever draws it calls `watch`. */
import type { Draft, KeptDraft, Request } from "../shared/messages";
import { keep, kept as keptBefore, listen, post, request, type Answer, type Params } from "./host";
import { begin, draftOfPrompt, EMPTY, endsOf, joined, received, type Kept, type State } from "./state";
import { notOf } from "./transcript";

const KEEP_MS = 250;
/** Ends of turns that are kept for the next page. */
const MOST_ENDS = 50;

const before = keptBefore() as Kept | undefined;
let state = begin(before);
let draw: (state: State) => void = () => {};
let keys = 0;
/** What the host has of the draft of a session. */
let told: KeptDraft & { sessionId: string } = { ...EMPTY, at: 0, sessionId: "" };
let timer: ReturnType<typeof setTimeout> | undefined;

/** Call `draw` with the state now and after each change. */
export function watch(drawing: (state: State) => void): void {
  draw = drawing;
  draw(state);
  listen((message) => {
    const wasStale = state.transcript?.isStale ?? false;
    if (message.type === "loaded") {
      keepNow();
      told = { ...message.draft, sessionId: message.snapshot.session.id };
    }
    change(received(state, message, before));
    const { transcript } = state;
    if (transcript?.isStale && !wasStale) {
      void attempt("open", { sessionId: transcript.session.id });
    }
  });
  addEventListener("pagehide", keepNow);
  document.addEventListener("visibilitychange", keepNow);
  for (const type of ["focusin", "focus", "blur"]) {
    addEventListener(type, () => post({ type: "focused", isFocused: type !== "blur" }));
  }
  post({ type: "ready" });
}

function change(next: State): void {
  const isTyped = next.draft !== state.draft;
  const isKept = isTyped || next.whenBusy !== state.whenBusy || next.transcript?.items !== state.transcript?.items;
  state = next;
  draw(state);
  if (isTyped && state.draft.pictures.length === 0) {
    // The page may be gone in a moment, and hears of it too late to say anything.
    keepNow();
  } else if (isKept && timer === undefined) {
    timer = setTimeout(keepNow, KEEP_MS);
  }
}

function keepNow(): void {
  clearTimeout(timer);
  timer = undefined;
  const { transcript, draft, sent, whenBusy } = state;
  if (!transcript) {
    return;
  }
  // Until the server has taken a prompt, it is still what the person has typed.
  const whole = sent.filter((each) => each.state === "sending").reduceRight((rest, each) => joined(each, rest), draft);
  const sessionId = transcript.session.id;
  const { text, pictures } = whole;
  const hasOthers = pictures !== told.pictures && pictures.length + told.pictures.length > 0;
  if (text !== told.text || hasOthers) {
    told = { text, pictures, sessionId, at: Date.now() };
    post({ type: "draft", sessionId, text, at: told.at, ...(hasOthers && { pictures }) });
  }
  const { at } = told;
  keep({ sessionId, draft: { ...whole, at }, whenBusy, ends: endsOf(transcript).slice(-MOST_ENDS) } satisfies Kept);
}

/** Ask the host; what goes wrong is shown, and the answer is then undefined. */
export async function attempt<M extends Request["method"]>(
  method: M,
  params: Params<M>,
): Promise<Answer<M> | undefined> {
  try {
    return await request(method, params);
  } catch (error) {
    update({ problem: wordsOf(error) });
    return undefined;
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Change parts of the state that are the view's own. */
export function update(parts: Partial<Pick<State, "draft" | "whenBusy" | "problem" | "panel">>): void {
  change({ ...state, ...parts });
}

export function focusInput(): void {
  change({ ...state, focus: state.focus + 1 });
}

/** Whether there is something to send. */
export function isSendable({ text, pictures }: Draft): boolean {
  return text.trim() !== "" || pictures.length > 0;
}

/** Send what began a turn once more, as far as it is on the page. */
export async function sendAgain(turnId: string): Promise<void> {
  const items = state.transcript?.items ?? [];
  const end = items.findIndex(({ kind, id }) => kind === "end" && id === turnId);
  const prompt = items.slice(0, end).findLast((item) => item.kind === "prompt");
  if (prompt) {
    await send("queue", draftOfPrompt(prompt));
  }
}

/** Send what stands in the input, or another draft. It comes back there when the server does not take it. */
export async function send(whenBusy = state.whenBusy, draft = state.draft): Promise<void> {
  const { transcript } = state;
  if (!transcript || !isSendable(draft) || state.connection.state !== "ready") {
    return;
  }
  const sessionId = transcript.session.id;
  const { text, pictures } = draft;
  const sending = { text, pictures, key: (keys += 1), state: "sending" as const };
  change({
    ...state,
    draft: draft === state.draft ? EMPTY : state.draft,
    sent: [...state.sent, sending],
    problem: "",
    panel: "transcript",
  });
  try {
    const taken = await request("send", { sessionId, text, pictures: [...pictures], whenBusy });
    const { turnId, state: how } = taken;
    // A slash command may be over by now, and leaves no message.
    const isOver = how === "running" && endsOf(state.transcript).some(({ id }) => id === turnId);
    const sent = state.sent.flatMap((each) => {
      return each.key !== sending.key ? each : how === "finished" || isOver ? [] : { ...each, turnId, state: how };
    });
    change({ ...state, sent });
    keepNow();
  } catch (error) {
    const isHere = state.transcript?.session.id === sessionId;
    const sent = state.sent.filter((each) => each.key !== sending.key);
    change({ ...state, sent, problem: wordsOf(error), draft: isHere ? joined(draft, state.draft) : state.draft });
    if (!isHere) {
      post({ type: "draft", sessionId, text, at: Date.now(), pictures });
    }
  }
}

/** Take back a prompt that waits, or one that was never started, into the input. */
export async function takeBack(turnId: string, draft: Draft): Promise<void> {
  const sessionId = state.transcript?.session.id ?? "";
  try {
    await request("cancel", { sessionId, turnId });
  } catch (error) {
    update({ problem: wordsOf(error) });
    return;
  }
  const { transcript } = state;
  if (transcript?.session.id === sessionId) {
    change({
      ...state,
      transcript: {
        ...transcript,
        queued: notOf(transcript.queued, turnId),
        drafts: transcript.drafts.filter(({ id }) => id !== turnId),
      },
      sent: state.sent.filter((each) => each.turnId !== turnId || each.state !== "queued"),
      draft: joined(state.draft, draft),
      focus: state.focus + 1,
    });
  }
}

export function loadOlder(): void {
  const { transcript, isLoadingOlder } = state;
  if (transcript?.cursor !== undefined && !isLoadingOlder) {
    change({ ...state, isLoadingOlder: true });
    void attempt("older", { sessionId: transcript.session.id, before: transcript.cursor }).finally(() => {
      change({ ...state, isLoadingOlder: false });
    });
  }
}
