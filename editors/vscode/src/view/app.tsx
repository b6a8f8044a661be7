/** The page: who is spoken with, what was said, what is asked, where to write. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { announcement } from "./announce";
import { titleOf } from "../shared/title";
import { Composer } from "./composer";
import { Conversation } from "./conversation";
import { post } from "./host";
import { Icon } from "./icons";
import { Question } from "./question";
import { Rename, SessionMenu, Sessions } from "./sessions";
import type { State } from "./state";
import { attempt, update } from "./store";
import { cost, tokens } from "./words";

export function App({ state }: { state: State }): JSX.Element {
  const { transcript, panel, problem } = state;
  const [question, ...others] = transcript?.questions ?? [];
  return (
    <>
      <Header state={state} />
      <ConnectionBar state={state} />
      <main>
        {panel === "sessions" ? (
          <Sessions current={transcript?.session.id} />
        ) : transcript ? (
          <Conversation key={transcript.session.id} state={state} transcript={transcript} />
        ) : (
          <div class="conversation" />
        )}
      </main>
      {problem && (
        <div class="problem note error" role="alert">
          <Icon name="warning" />
          <span>{problem}</span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => update({ problem: "" })}>
            <Icon name="close" />
          </button>
        </div>
      )}
      {question && <Question key={question.id} permission={question} others={others.length} />}
      <Composer state={state} />
      <Usage state={state} />
      <Announcer state={state} />
    </>
  );
}

function Header({ state: { transcript, panel } }: { state: State }): JSX.Element {
  const [isRenamed, setRenamed] = useState(false);
  const session = transcript?.session;
  return (
    <header class="head">
      {session && isRenamed ? (
        <Rename session={session} onDone={() => setRenamed(false)} />
      ) : (
        <h1 title={session?.cwd}>{session ? titleOf(session) : "Marvin"}</h1>
      )}
      {session && <SessionMenu session={session} onRename={() => setRenamed(true)} onChanged={() => {}} />}
      <button
        type="button"
        class="quiet"
        aria-label="Sessions"
        title="Sessions"
        aria-pressed={panel === "sessions"}
        onClick={() => update({ panel: panel === "sessions" ? "transcript" : "sessions" })}
      >
        <Icon name="sessions" />
      </button>
      <button
        type="button"
        class="quiet"
        aria-label="New session"
        title="New session"
        onClick={() => {
          update({ panel: "transcript" });
          void attempt("new", {});
        }}
      >
        <Icon name="add" />
      </button>
    </header>
  );
}

function ConnectionBar({ state: { connection } }: { state: State }): JSX.Element | null {
  if (connection.state === "ready") {
    return null;
  }
  const isOver = connection.state !== "starting";
  return (
    <div class={`connection note ${isOver ? "error" : "note"}`} role="status">
      <Icon name={isOver ? "warning" : "note"} />
      <span>{connection.message}</span>
      {(isOver || connection.remedy !== undefined) && (
        <span class="buttons">
          {connection.remedy !== undefined && (
            <button type="button" class="secondary" onClick={() => post({ type: "restart" })}>
              {connection.remedy}
            </button>
          )}
          <button type="button" class="quiet" onClick={() => post({ type: "showLog" })}>
            Show the log
          </button>
          <button type="button" class="quiet" onClick={() => post({ type: "openSettings" })}>
            Settings
          </button>
        </span>
      )}
    </div>
  );
}

/** How full the context is, and what the session cost. */
function Usage({ state: { usage } }: { state: State }): JSX.Element | null {
  if (!usage) {
    return <footer class="usage" aria-label="Usage" />;
  }
  const { contextUsed, contextSize, costUsd } = usage;
  const words = `Context: ${tokens(contextUsed)}${contextSize ? ` of ${tokens(contextSize)}` : ""}`;
  return (
    <footer class="usage" aria-label="Usage">
      {contextSize !== undefined && (
        <meter min={0} max={contextSize} high={contextSize * 0.8} value={contextUsed} aria-hidden="true" />
      )}
      <span>{words}</span>
      {costUsd !== undefined && <span class="cost">{cost(costUsd)}</span>}
    </footer>
  );
}

function Announcer({ state }: { state: State }): JSX.Element {
  const before = useRef(state);
  const said = useRef("");
  said.current = announcement(before.current, state) || said.current;
  before.current = state;
  return (
    <div class="unseen" role="status" aria-live="polite">
      {said.current}
    </div>
  );
}
