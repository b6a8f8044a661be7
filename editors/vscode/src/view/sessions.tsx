/** The sessions that are stored: found by what was said in them, opened, and kept in order. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../protocol";
import { titleOf } from "../shared/title";
import { focused, rove } from "./focus";
import { request } from "./host";
import { Icon } from "./icons";
import { Menu } from "./menu";
import { attempt, update } from "./store";
import { ago } from "./words";

const PAUSE_MS = 150;

export function Sessions({ current }: { current: string | undefined }): JSX.Element {
  const [query, setQuery] = useState("");
  const [sessions, setSessions] = useState<Session[]>();
  const [cursor, setCursor] = useState<string>();
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  const asked = useRef(0);
  const list = useRef<HTMLUListElement>(null);

  const load = (before: Session[], after?: string) => {
    const mine = (asked.current += 1);
    request("sessions", { query, ...(after !== undefined && { cursor: after }) }).then(
      (result) => {
        if (mine === asked.current) {
          setSessions([...before, ...result.sessions]);
          setCursor(result.nextCursor);
          setProblem("");
        }
      },
      (error: Error) => setProblem(error.message),
    );
  };
  useEffect(() => {
    const timer = setTimeout(() => load([]), query ? PAUSE_MS : 0);
    return () => clearTimeout(timer);
  }, [query, round]);
  const close = () => update({ panel: "transcript" });

  return (
    <section
      class="sessions"
      aria-label="Sessions"
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          close();
        } else if (list.current) {
          rove(event, list.current, ".open");
        }
      }}
    >
      <div class="find">
        <button type="button" class="quiet" aria-label="Back to the conversation" title="Back (Escape)" onClick={close}>
          <Icon name="back" />
        </button>
        <input
          ref={focused}
          type="search"
          aria-label="Find sessions by what was said"
          placeholder="Find by what was said"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      </div>
      <p class="hint" role="status">
        {problem ||
          (sessions ? (sessions.length > 0 ? "" : query ? "Nothing was found." : "There are none yet.") : "Looking…")}
      </p>
      <ul ref={list}>
        {sessions?.map((session, at) => (
          <Row
            key={session.id}
            session={session}
            isCurrent={session.id === current}
            isFirst={at === 0}
            onChanged={() => setRound(round + 1)}
          />
        ))}
      </ul>
      {cursor !== undefined && (
        <button type="button" class="secondary" onClick={() => load(sessions ?? [], cursor)}>
          More
        </button>
      )}
    </section>
  );
}

interface RowProps {
  session: Session;
  isCurrent: boolean;
  isFirst: boolean;
  onChanged(): void;
}

function Row({ session, isCurrent, isFirst, onChanged }: RowProps): JSX.Element {
  const [isRenamed, setRenamed] = useState(false);
  const folder = session.cwd.split(/[\\/]/).at(-1) ?? session.cwd;
  return (
    <li aria-current={isCurrent ? "true" : undefined}>
      {isRenamed ? (
        <Rename
          session={session}
          onDone={() => {
            setRenamed(false);
            onChanged();
          }}
        />
      ) : (
        <button
          type="button"
          class="open"
          tabIndex={isFirst ? 0 : -1}
          onClick={() => {
            update({ panel: "transcript" });
            void attempt("open", { sessionId: session.id });
          }}
        >
          <span class="title">{titleOf(session)}</span>
          <span class="detail" title={session.cwd}>
            {[session.busy && (session.activity ?? "at work"), isCurrent && "shown now", ago(session.updatedAt), folder]
              .filter(Boolean)
              .join(" · ")}
          </span>
        </button>
      )}
      <SessionMenu session={session} onRename={() => setRenamed(true)} onChanged={onChanged} />
    </li>
  );
}

interface SessionMenuProps {
  session: Session;
  onRename(): void;
  onChanged(): void;
}

/** What can be done with a session. */
export function SessionMenu({ session, onRename, onChanged }: SessionMenuProps): JSX.Element {
  const sessionId = session.id;
  return (
    <Menu
      label={`Session menu: ${titleOf(session)}`}
      icon="more"
      actions={[
        { label: "Rename", run: onRename },
        { label: "Fork", run: () => void attempt("fork", { sessionId }) },
        { label: "Archive", run: () => void attempt("archive", { sessionId }).then(onChanged) },
        { label: "Delete", run: () => void attempt("delete", { sessionId }).then(onChanged) },
      ]}
    />
  );
}

export function Rename({ session, onDone }: { session: Session; onDone(): void }): JSX.Element {
  const [title, setTitle] = useState(session.title);
  return (
    <form
      class="rename"
      onSubmit={async (event) => {
        event.preventDefault();
        if (title.trim() && title !== session.title) {
          await attempt("rename", { sessionId: session.id, title: title.trim() });
        }
        onDone();
      }}
    >
      <input
        ref={focused}
        type="text"
        aria-label="Title of the session"
        value={title}
        onInput={(event) => setTitle(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            onDone();
          }
        }}
      />
    </form>
  );
}
