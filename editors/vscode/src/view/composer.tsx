/** Where the person writes: the text, what goes with it, and the buttons to send and to stop. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Completion } from "../protocol";
import type { Chip, Draft, Request } from "../shared/messages";
import { completed, useCompletion, type Offer } from "./completion";
import { fit } from "./fit";
import { useHistory } from "./history";
import { post } from "./host";
import { Icon } from "./icons";
import { Menu } from "./menu";
import { Options } from "./options";
import { picturesIn, read } from "./pictures";
import type { State } from "./state";
import { attempt, focusInput, isSendable, send, update } from "./store";
import { count } from "./words";

type ContextKind = Extract<Request, { method: "addContext" }>["params"]["kind"];

const CONTEXT: readonly { kind: ContextKind; label: string }[] = [
  { kind: "selection", label: "Selection" },
  { kind: "buffer", label: "This file" },
  { kind: "diagnostics", label: "Problems of this file" },
  { kind: "gitDiff", label: "Git changes" },
  { kind: "file", label: "Another file…" },
];

export function Composer({ state }: { state: State }): JSX.Element {
  const { transcript, draft, chips, connection } = state;
  const sessionId = transcript?.session.id ?? "";
  const input = useRef<HTMLTextAreaElement>(null);
  const cursor = useRef<number>(undefined);
  const latest = useRef(draft);
  latest.current = draft;
  const completion = useCompletion(sessionId);
  const prompts = [...(transcript?.items.filter((item) => item.kind === "prompt") ?? []), ...state.sent];
  const history = useHistory(prompts.flatMap(({ text }) => text || []));
  const isRunning = transcript?.turnId !== undefined;
  const isSummarising = transcript?.session.activity === "summarising";
  const isBusy = isRunning || (transcript?.session.busy ?? false);
  const canSend = connection.state === "ready" && transcript !== undefined && isSendable(draft);

  useLayoutEffect(() => {
    fit(input.current);
    if (cursor.current !== undefined) {
      input.current?.setSelectionRange(cursor.current, cursor.current);
      cursor.current = undefined;
    }
  }, [draft.text, isBusy]);
  useEffect(() => {
    const again = () => fit(input.current);
    addEventListener("resize", again);
    return () => removeEventListener("resize", again);
  }, []);
  useEffect(() => {
    if (state.focus > 0) {
      input.current?.focus();
    }
  }, [state.focus]);

  const write = (text: string, at?: number) => {
    cursor.current = at;
    update({ draft: { ...draft, text } });
  };
  const accept = (item: Completion) => {
    const done = completed(draft.text, input.current?.selectionStart ?? draft.text.length, item);
    completion.close();
    write(done.text, done.cursor);
    if (item.kind === "folder") {
      completion.ask(done.text, done.cursor);
    }
    input.current?.focus();
  };
  const take = async (files: File[]) => {
    const { pictures, problems } = await read(files);
    const now: Draft = latest.current;
    update({ draft: { ...now, pictures: [...now.pictures, ...pictures] }, problem: problems.join(" ") });
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const { offer } = completion;
    const { selectionStart, selectionEnd, value } = event.currentTarget;
    if (event.isComposing) {
      return;
    }
    if (offer && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      completion.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (offer && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) {
      event.preventDefault();
      accept(offer.items[offer.at] as Completion);
    } else if (offer && event.key === "Escape") {
      event.preventDefault();
      completion.close();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      completion.close();
      const other = state.whenBusy === "queue" ? "steer" : "queue";
      void send(event.ctrlKey || event.metaKey ? other : state.whenBusy);
    } else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && selectionStart === selectionEnd) {
      const isUp = event.key === "ArrowUp";
      if (history.shows(value) || selectionStart === (isUp ? 0 : value.length)) {
        const text = history.step(isUp ? -1 : 1, value);
        if (text !== undefined) {
          event.preventDefault();
          write(text, text.length);
        }
      }
    }
  };

  return (
    <form
      class={isBusy ? "composer busy" : "composer"}
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void take(picturesIn(event.dataTransfer));
      }}
    >
      {completion.offer && <OfferList offer={completion.offer} onChoose={accept} />}
      <Attached chips={chips} draft={draft} />
      <textarea
        ref={input}
        rows={1}
        aria-label="Message to Marvin"
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls="offer"
        aria-activedescendant={completion.offer ? `offer-${completion.offer.at}` : undefined}
        placeholder={isBusy ? "What next?" : "Ask, or say what to do. @ file, / command"}
        value={draft.text}
        onInput={(event) => {
          const { value, selectionStart } = event.currentTarget;
          write(value);
          completion.ask(value, selectionStart);
        }}
        onBlur={completion.close}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const files = picturesIn(event.clipboardData);
          if (files.length > 0) {
            event.preventDefault();
            void take(files);
          }
        }}
      />
      <div class="bar">
        <span class="choices">
          <Menu
            label="Add context"
            icon="add"
            side="left"
            actions={CONTEXT.map(({ kind, label }) => ({
              label,
              run: () => void attempt("addContext", { kind }).then(focusInput),
            }))}
          />
          <Options options={state.options} sessionId={sessionId} />
        </span>
        <span class="sends">
          {isBusy && (
            <select
              aria-label="While Marvin works, send"
              title="Queue: after this turn. Steer: into this turn, with its next round. Ctrl+Enter does the other."
              value={state.whenBusy}
              onChange={(event) => update({ whenBusy: event.currentTarget.value === "steer" ? "steer" : "queue" })}
            >
              <option value="queue">queue</option>
              <option value="steer">steer</option>
            </select>
          )}
          {(isRunning || isSummarising) && (
            <button
              type="button"
              class="round stop"
              aria-label="Stop"
              title={isRunning ? "Stop this turn; what has arrived is kept" : "Stop the summary; nothing is changed"}
              onClick={() => void attempt("cancel", { sessionId })}
            >
              <Icon name="stop" />
            </button>
          )}
          <button type="submit" class="round send" aria-label="Send" title="Send (Enter)" disabled={!canSend}>
            <Icon name="send" />
          </button>
        </span>
      </div>
    </form>
  );
}

function OfferList({ offer, onChoose }: { offer: Offer; onChoose(item: Completion): void }): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.children[offer.at]?.scrollIntoView({ block: "nearest" });
  }, [offer.at]);
  return (
    <ul class="offer" id="offer" role="listbox" aria-label={count(offer.items.length, "suggestion")} ref={list}>
      {offer.items.map((item, at) => (
        <li
          key={`${item.kind} ${item.insertText}`}
          id={`offer-${at}`}
          role="option"
          aria-selected={at === offer.at}
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(item);
          }}
        >
          <span class="mono">{item.label}</span>
          <span class="detail">{item.detail ?? item.kind}</span>
        </li>
      ))}
    </ul>
  );
}

function Attached({ chips, draft }: { chips: readonly Chip[]; draft: Draft }): JSX.Element | null {
  if (chips.length === 0 && draft.pictures.length === 0) {
    return null;
  }
  return (
    <ul class="chips" aria-label="Goes with the message">
      {chips.map((chip) => (
        <li key={chip.id} class="chip" title={chip.description}>
          <span>{chip.label}</span>
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${chip.description}`}
            onClick={() => post({ type: "removeChip", id: chip.id })}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
      {draft.pictures.map((picture, at) => (
        <li key={at} class="chip picture" title={picture.name}>
          <img src={`data:${picture.mimeType};base64,${picture.data}`} alt={picture.name} />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${picture.name}`}
            onClick={() => update({ draft: { ...draft, pictures: draft.pictures.toSpliced(at, 1) } })}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
