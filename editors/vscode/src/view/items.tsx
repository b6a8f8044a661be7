/** What is said in a conversation: prompts, answers, thoughts, notes, summaries, and the ends of turns. */
import { Component, type JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Answers, Picture } from "../shared/messages";
import { ChangeView } from "./change";
import { post } from "./host";
import { Icon } from "./icons";
import { textOf } from "./said";
import { attempt, sendAgain } from "./store";
import { MarkdownStream } from "./stream";
import { ToolView } from "./tool";
import type { Compaction, End, Item, Note, Prompt, Prose } from "./item";
import { compacted, cost, sizes, STOPPED } from "./words";

interface Props {
  item: Item;
  sessionId: string;
}

/** Drawn again only when its item is another one. */
export class ItemView extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return next.item !== this.props.item;
  }

  override render({ item, sessionId }: Props): JSX.Element {
    switch (item.kind) {
      case "prompt":
        return <PromptView item={item} />;
      case "answer":
        return <AnswerView item={item} sessionId={sessionId} />;
      case "thought":
        return <ThoughtView item={item} />;
      case "tool":
        return <ToolView tool={item} />;
      case "change":
        return <ChangeView change={item} />;
      case "note":
        return <NoteView item={item} />;
      case "compaction":
        return <CompactionView item={item} />;
      case "end":
        return <EndView item={item} sessionId={sessionId} />;
    }
  }
}

/** The words and the pictures of a prompt, each of which it may be without. */
export function Said({ text, pictures }: { text: string; pictures: readonly Omit<Picture, "name">[] }): JSX.Element {
  return (
    <>
      {text && <p>{text}</p>}
      {pictures.map(({ mimeType, data }, at) => (
        <img key={at} class="picture" src={`data:${mimeType};base64,${data}`} alt={`Picture ${at + 1}`} />
      ))}
    </>
  );
}

function PromptView({ item }: { item: Prompt }): JSX.Element {
  return (
    <article class="prompt" aria-label="You" tabIndex={-1}>
      <Said text={item.text} pictures={item.images} />
      {item.context.length > 0 && (
        <ul class="context" aria-label="Went with the message">
          {item.context.map(({ label, text }, at) => (
            <li key={at}>
              <details>
                <summary>{label}</summary>
                <pre tabIndex={0}>{text}</pre>
              </details>
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

function Markdown({ text, isWhole }: { text: string; isWhole: boolean }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const stream = useRef<MarkdownStream | null>(null);
  useLayoutEffect(() => {
    if (root.current) {
      stream.current ??= new MarkdownStream(root.current);
      stream.current.update(text, isWhole);
    }
  }, [text, isWhole]);
  return <div class="markdown" ref={root} />;
}

function AnswerView({ item, sessionId }: { item: Prose; sessionId: string }): JSX.Element {
  return (
    <article class="answer" aria-label="Marvin" aria-busy={!item.isWhole} tabIndex={-1}>
      <Markdown text={item.text} isWhole={item.isWhole} />
      {item.isWhole && (
        <div class="actions">
          <button type="button" class="quiet" onClick={() => post({ type: "copy", text: item.text })}>
            Copy
          </button>
          <button
            type="button"
            class="quiet"
            title="Begin another session that shares all up to here"
            onClick={() => void attempt("fork", { sessionId, atItemId: item.id })}
          >
            Fork from here
          </button>
        </div>
      )}
    </article>
  );
}

function ThoughtView({ item }: { item: Prose }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="step" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="thought" />
        <span class="title">{item.isWhole ? "Thought" : "Thinking"}</span>
        {!isOpen && <span class="glimpse">{item.text.slice(-200).split("\n").at(-1)}</span>}
      </summary>
      {isOpen && (
        <div class="body thought">
          <Markdown text={item.text} isWhole={item.isWhole} />
        </div>
      )}
    </details>
  );
}

function NoteView({ item }: { item: Note }): JSX.Element {
  return (
    <p class={`note ${item.level}`}>
      <Icon name={item.level === "note" ? "note" : "warning"} />
      <span class={item.text.includes("\n") ? "mono" : ""}>{item.text}</span>
    </p>
  );
}

/** A line between what the model reads no longer as it was said and what follows; opened, what it reads instead. */
function CompactionView({ item: { compaction } }: { item: Compaction }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { message, note } = compaction;
  const line = (
    <>
      <Icon name="summary" />
      <span class="title">{compacted(compaction)}</span>
      <span class="status">{sizes(compaction)}</span>
    </>
  );
  if (!message) {
    return <p class="step compaction">{line}</p>;
  }
  return (
    <details class="step compaction" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{line}</summary>
      {isOpen && (
        <div class="body thought">
          {note && <p>No model wrote it: {note}</p>}
          <Markdown text={textOf(message)} isWhole />
        </div>
      )}
    </details>
  );
}

function EndView({ item, sessionId }: { item: End; sessionId: string }): JSX.Element {
  const [outcome, setOutcome] = useState<Answers["undo"]>();
  const change = async (method: "undo" | "redo") => {
    setOutcome(await attempt(method, { sessionId, turnId: item.id }));
  };
  const words = item.error ?? STOPPED[item.stopReason];
  const isFailed = item.stopReason === "failed";
  return (
    <footer class="end">
      {words && (
        <p class={`note ${isFailed ? "error" : "warning"}`}>
          <Icon name="warning" />
          <span>{words}</span>
        </p>
      )}
      {outcome && (
        <ul class="outcome" role="status">
          {outcome.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
          <li>
            {item.isUndone ? "Undone: " : "Done again: "}
            {outcome.applied.join(", ") || "no file"}
          </li>
          {outcome.failed.map(({ path, reason }) => (
            <li key={path}>{`${path} was left alone: ${reason}`}</li>
          ))}
        </ul>
      )}
      <div class="actions always">
        {isFailed && (
          <button type="button" class="quiet" onClick={() => void sendAgain(item.id)}>
            Try again
          </button>
        )}
        {isFailed && (
          <button type="button" class="quiet" onClick={() => post({ type: "openSettings" })}>
            Settings
          </button>
        )}
        {isFailed && (
          <button type="button" class="quiet" onClick={() => post({ type: "showLog" })}>
            Show the log
          </button>
        )}
        {item.hasChanges && !item.isUndone && (
          <button type="button" class="quiet" onClick={() => void change("undo")}>
            <Icon name="undo" /> Undo this turn
          </button>
        )}
        {item.isUndone && (
          <button type="button" class="quiet" onClick={() => void change("redo")}>
            Redo
          </button>
        )}
        {item.costUsd !== undefined && <span class="cost">{cost(item.costUsd)}</span>}
      </div>
    </footer>
  );
}
