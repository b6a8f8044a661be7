/**
 * The card of a permission question. It shows all that a yes covers, never takes the focus by itself, and takes no yes
 * before all of it could be read.
 */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Permission } from "../protocol";
import type { Request } from "../shared/messages";
import { fit } from "./fit";
import { focused } from "./focus";
import { Icon } from "./icons";
import { attempt, update } from "./store";

type Decision = Extract<Request, { method: "answer" }>["params"]["decision"];
type Way = Decision | "denyWithNote";

/** A key or a click that was meant for what was there before must not answer. */
const SETTLES_MS = 400;
/** `short` is what stands on the button, and part of its whole name. */
const WAYS: readonly { way: Way; name: string; short: string; key: string }[] = [
  { way: "allowOnce", name: "Allow once", short: "Allow once", key: "y" },
  { way: "allowSession", name: "Allow for this session", short: "For this session", key: "s" },
  { way: "deny", name: "Deny", short: "Deny", key: "n" },
];
const OTHER_WAYS: typeof WAYS = [
  { way: "allowEdited", name: "Edit, then allow", short: "Edit", key: "e" },
  { way: "denyWithNote", name: "Deny with a note", short: "Deny with a note", key: "w" },
  { way: "denyAndStop", name: "Deny and stop", short: "Deny and stop", key: "x" },
];
const HEADS: Record<Permission["kind"], string> = {
  command: "Run this command?",
  edit: "Make this change?",
  protectedPath: "Touch a protected file?",
  outsidePath: "Go outside the workspace?",
  network: "Use the network?",
  trust: "Trust what this project brings?",
};
const SANDBOX: Record<string, string> = { off: "no sandbox" };

function takes(permission: Permission, way: Way): boolean {
  return permission.options.includes(way === "denyWithNote" ? "deny" : way);
}

/** Give each question a `key`: what was seen of one is not seen of the next. */
export function Question({ permission, others }: { permission: Permission; others: number }): JSX.Element {
  const body = useRef<HTMLDivElement>(null);
  const since = useRef(performance.now());
  const [wasSeen, setSeen] = useState(false);
  const [writes, setWrites] = useState<"allowEdited" | "denyWithNote">();
  const [hint, setHint] = useState("");
  const look = () => {
    const box = body.current;
    if (box && box.scrollTop + box.clientHeight >= box.scrollHeight - 2) {
      setSeen(true);
    }
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    observer.observe(body.current as HTMLElement);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    // Time does not count while nobody can see the card.
    const appear = () => {
      since.current = performance.now();
    };
    document.addEventListener("visibilitychange", appear);
    return () => document.removeEventListener("visibilitychange", appear);
  }, []);

  const answer = async (decision: Decision, more: { command?: string; note?: string } = {}) => {
    const result = await attempt("answer", { permissionId: permission.id, decision, ...more });
    if (result?.accepted === false) {
      update({ problem: "That question was already settled." });
    }
  };
  const choose = (way: Way) => {
    if (!takes(permission, way)) {
      return;
    }
    if (performance.now() - since.current < SETTLES_MS) {
      setHint("The question has only just come. Read it, and answer again.");
    } else if (way.startsWith("allow") && !wasSeen) {
      setHint("It goes on below. Read it to its end first.");
      body.current?.focus();
    } else if (way === "allowEdited" || way === "denyWithNote") {
      setWrites(way);
    } else {
      void answer(way);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isTyping = event.target instanceof HTMLTextAreaElement;
    if (event.key === "Escape" && writes) {
      event.stopPropagation();
      setWrites(undefined);
    } else if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) {
      const chosen = [...WAYS, ...OTHER_WAYS].find(({ key }) => key === event.key);
      if (chosen) {
        event.preventDefault();
        choose(chosen.way);
      }
    }
  };

  return (
    <section class="question" aria-label="Question" tabIndex={-1} onKeyDown={onKeyDown}>
      <h2>
        <Icon name="question" /> {HEADS[permission.kind]}
        {others > 0 && <span class="others">{`${others} more after this`}</span>}
      </h2>
      <div class="covered" ref={body} tabIndex={0} role="group" aria-label="What a yes covers" onScroll={look}>
        <Covered permission={permission} />
      </div>
      {writes ? (
        <Writing
          label={writes === "allowEdited" ? "The command to run instead" : "Why not? Marvin reads it"}
          begin={writes === "allowEdited" ? (permission.command?.display ?? "") : ""}
          verb={writes === "allowEdited" ? "Run this" : "Deny"}
          isMono={writes === "allowEdited"}
          onCancel={() => setWrites(undefined)}
          onDone={(text) =>
            writes === "allowEdited" ? answer("allowEdited", { command: text }) : answer("deny", { note: text })
          }
        />
      ) : (
        [WAYS, OTHER_WAYS].map((ways) => (
          <div key={ways === WAYS} class={ways === WAYS ? "ways" : "ways other"}>
            {ways
              .filter(({ way }) => takes(permission, way))
              .map(({ way, name, short, key }) => (
                <button
                  key={way}
                  type="button"
                  class={ways === OTHER_WAYS ? "quiet" : way === "allowOnce" ? "primary" : "secondary"}
                  aria-label={name}
                  aria-keyshortcuts={key}
                  aria-disabled={way.startsWith("allow") && !wasSeen}
                  title={name}
                  onClick={() => choose(way)}
                >
                  {short} <kbd aria-hidden="true">{key}</kbd>
                </button>
              ))}
          </div>
        ))
      )}
      <p class="hint" role="status">
        {hint || (wasSeen ? "" : "Scroll to the end to be able to allow it.")}
      </p>
    </section>
  );
}

function Covered({ permission }: { permission: Permission }): JSX.Element {
  const { command } = permission;
  return (
    <>
      <pre class="exact">{command ? (command.revealed ?? command.display) : permission.title}</pre>
      <dl class="fields">
        {command && <Field name="In" text={command.cwd} isMono />}
        {command && (
          <Field name="With" text={`${command.shell}, ${SANDBOX[command.sandbox] ?? `sandbox ${command.sandbox}`}`} />
        )}
        {command &&
          Object.entries(command.envChanges).map(([name, value]) => (
            <Field key={name} name="Variable" text={`${name}=${String(value)}`} isMono />
          ))}
        <Field name="Asked by" text={permission.decidedBy} />
        {!command && permission.reason && <Field name="That is" text={permission.reason} />}
      </dl>
      {command?.scripts.map((script) => (
        <section key={script.path} class="script" aria-label={`Script ${script.path}`}>
          <h3>
            It runs <code>{script.path}</code>, which was changed in this session:
          </h3>
          <pre>{script.text}</pre>
        </section>
      ))}
      {permission.diff && <pre class="script">{permission.diff}</pre>}
    </>
  );
}

function Field({ name, text, isMono }: { name: string; text: string; isMono?: boolean }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isMono ? "mono" : ""}>{text}</dd>
    </div>
  );
}

interface WritingProps {
  label: string;
  begin: string;
  verb: string;
  isMono: boolean;
  onDone(text: string): void;
  onCancel(): void;
}

function Writing({ label, begin, verb, isMono, onDone, onCancel }: WritingProps): JSX.Element {
  const [text, setText] = useState(begin);
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => fit(box.current), [text]);
  useLayoutEffect(() => focused(box.current), []);
  const done = () => text.trim() && onDone(text);
  return (
    <form
      class="writing"
      onSubmit={(event) => {
        event.preventDefault();
        done();
      }}
    >
      <textarea
        ref={box}
        class={isMono ? "mono" : ""}
        aria-label={label}
        placeholder={label}
        rows={1}
        spellcheck={!isMono}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            done();
          }
        }}
      />
      <div class="ways">
        <button type="submit" class="primary">
          {verb}
        </button>
        <button type="button" class="secondary" onClick={onCancel}>
          Back
        </button>
      </div>
    </form>
  );
}
