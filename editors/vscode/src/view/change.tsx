/** A patch: each file with its counts, each hunk as a small diff that can be kept or rejected. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Edit, Hunk } from "../protocol";
import { post } from "./host";
import { focused } from "./focus";
import { Icon } from "./icons";
import { attempt } from "./store";
import type { Change } from "./item";
import { count, lineCounts } from "./words";

const MOST_LINES = 30;
/** All lines of a long hunk are drawn a few in each frame, so that none is late. */
const LINES_A_FRAME = 100;
const KIND = { add: "new", delete: "deleted", update: "" };

type Resolve = (accept: string[], reject: string[], reason?: string) => void;

/** The hunks that nobody has decided on. */
export function undecided(change: Change): string[] {
  const ids = change.patch.edits.flatMap((edit) => edit.hunks.map((hunk) => hunk.id));
  return ids.filter((id) => !(id in change.decided));
}

export function ChangeView({ change }: { change: Change }): JSX.Element {
  const { patch } = change;
  const open = undecided(change);
  const [wish, setWish] = useState<boolean>();
  const [problem, setProblem] = useState("");
  const resolve: Resolve = async (accept, reject, reason) => {
    setProblem("");
    const result = await attempt("resolve", {
      patchId: patch.id,
      accept,
      reject: reject.map((hunkId) => ({ hunkId, ...(reason && { reason }) })),
    });
    const stale = result?.failed.filter((each) => each.reason === "stale").length ?? 0;
    const others = result?.failed.filter((each) => each.reason !== "stale").map((each) => each.reason) ?? [];
    const words = stale
      ? `${count(stale, "place")} changed since, or the file is gone: left as it is now. Keep it, or look at the file.`
      : "";
    setProblem([words, ...others].filter(Boolean).join(" "));
  };
  const isOpen = wish ?? open.length > 0;
  return (
    <section class="change" aria-label={`Change: ${patch.edits.map((edit) => edit.path).join(", ")}`}>
      {patch.edits.map((edit) => (
        <FileView
          key={edit.uri}
          edit={edit}
          change={change}
          isOpen={isOpen}
          onToggle={() => setWish(!isOpen)}
          resolve={resolve}
        />
      ))}
      {problem && (
        <p class="note warning" role="status">
          <Icon name="warning" />
          <span>{problem}</span>
        </p>
      )}
      {open.length > 0 && (
        <div class="review">
          <span class="state">{stateOf(change)}</span>
          <Decide look="secondary" change={change} ids={open} resolve={resolve} />
        </div>
      )}
    </section>
  );
}

function stateOf(change: Change): string {
  if (change.isProposed) {
    return "Proposed: nothing is written before you say so.";
  }
  const open = undecided(change);
  const there = present(change, open).length;
  if (there === 0) {
    return "Not in the file any more: undone, or changed since.";
  }
  const rest = there < open.length ? `, but for ${open.length - there} of ${open.length} places` : "";
  return `Written${rest}. You can still take it back.`;
}

/** Those of these hunks whose lines are in their file, as far as is known. */
function present(change: Change, hunkIds: readonly string[]): string[] {
  return hunkIds.filter((id) => !change.absent?.includes(id));
}

interface FileProps {
  edit: Edit;
  change: Change;
  isOpen: boolean;
  onToggle(): void;
  resolve: Resolve;
}

function FileView({ edit, change, isOpen, onToggle, resolve }: FileProps): JSX.Element {
  const { added, removed } = lineCounts(edit);
  const isShared = undecided(change).length > 1;
  return (
    <div class="file">
      <div class="file-head">
        <button
          type="button"
          class="fold"
          aria-expanded={isOpen}
          aria-label={`Hunks of ${edit.path}`}
          onClick={onToggle}
        >
          <Icon name="chevron" />
        </button>
        <button
          type="button"
          class="path mono"
          title={`Open ${edit.newPath ?? edit.path}`}
          onClick={() =>
            post({ type: "openPath", path: edit.newPath ?? edit.path, line: edit.hunks[0]?.newStart ?? 1 })
          }
        >
          <bdi>{edit.newPath ? `${edit.path} → ${edit.newPath}` : edit.path}</bdi>
        </button>
        {KIND[edit.kind] && <span class="kind">{KIND[edit.kind]}</span>}
        {edit.executable !== undefined && <span class="kind">{edit.executable ? "executable" : "not executable"}</span>}
        <span class="counts">
          <span class="added" aria-label={`${count(added, "line")} added`}>
            +{added}
          </span>{" "}
          <span class="removed" aria-label={`${count(removed, "line")} removed`}>
            −{removed}
          </span>
        </span>
        <Outcome edit={edit} change={change} />
        <button
          type="button"
          class="quiet"
          onClick={() => post({ type: "openChange", patchId: change.id, path: edit.path })}
        >
          Open change
        </button>
      </div>
      {isOpen &&
        edit.hunks.map((hunk) => (
          <div class="hunk" key={hunk.id}>
            {isShared && !(hunk.id in change.decided) && (
              <div class="hunk-head">
                <span class="hint">{`Line ${hunk.newStart}`}</span>
                <Decide look="quiet" change={change} ids={[hunk.id]} resolve={resolve} />
              </div>
            )}
            {edit.hunks.length > 1 && hunk.id in change.decided && (
              <div class="hunk-head hint">{`Line ${hunk.newStart}: ${change.decided[hunk.id] ? "kept" : "rejected"}`}</div>
            )}
            <Lines hunk={hunk} />
          </div>
        ))}
    </div>
  );
}

/** How the hunks of a file were decided on, once all were. */
function Outcome({ edit, change }: { edit: Edit; change: Change }): JSX.Element | null {
  const decisions = edit.hunks.map((hunk) => change.decided[hunk.id]);
  if (decisions.length === 0 || decisions.includes(undefined)) {
    return null;
  }
  const kept = decisions.filter(Boolean).length;
  const words = kept === decisions.length ? "kept" : kept === 0 ? "rejected" : `${kept} of ${decisions.length} kept`;
  return <span class={`decided ${words}`}>{words}</span>;
}

function Lines({ hunk }: { hunk: Hunk }): JSX.Element {
  const [most, setMost] = useState(MOST_LINES);
  const lines = [
    ...hunk.oldLines.map((text, at) => ({ sign: "−", text, number: hunk.oldStart + at })),
    ...hunk.newLines.map((text, at) => ({ sign: "+", text, number: hunk.newStart + at })),
  ];
  const shown = lines.slice(0, most);
  useEffect(() => {
    if (most === MOST_LINES || most >= lines.length) {
      return undefined;
    }
    const next = requestAnimationFrame(() => setMost(most + LINES_A_FRAME));
    return () => cancelAnimationFrame(next);
  }, [most]);
  return (
    <>
      <div class="lines" tabIndex={0} role="group" aria-label={`Lines from ${hunk.newStart}`}>
        {shown.map(({ sign, text, number }, at) => (
          <div key={at} class={sign === "+" ? "line added" : "line removed"}>
            <span class="number" aria-hidden="true">
              {number}
            </span>
            <span class="sign" aria-label={sign === "+" ? "added" : "removed"}>
              {sign}
            </span>
            <code>{text.replace(/\r?\n$/, "")}</code>
          </div>
        ))}
      </div>
      {most === MOST_LINES && lines.length > most && (
        <button type="button" class="quiet" onClick={() => setMost(MOST_LINES + LINES_A_FRAME)}>
          {`Show all ${lines.length} lines`}
        </button>
      )}
    </>
  );
}

interface DecideProps {
  look: "secondary" | "quiet";
  change: Change;
  ids: string[];
  resolve: Resolve;
}

function Decide({ look, change, ids, resolve }: DecideProps): JSX.Element {
  const [reason, setReason] = useState<string>();
  const there = present(change, ids);
  if (reason !== undefined) {
    return (
      <form
        class="reason"
        onSubmit={(event) => {
          event.preventDefault();
          setReason(undefined);
          resolve([], there, reason.trim());
        }}
        onKeyDown={(event) => event.key === "Escape" && setReason(undefined)}
      >
        <input
          type="text"
          aria-label="Why not? Marvin reads it; it may be empty"
          placeholder="Why not? (may be empty)"
          value={reason}
          ref={focused}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        <button type="submit" class="secondary">
          Reject
        </button>
        <button type="button" class="quiet" onClick={() => setReason(undefined)}>
          Cancel
        </button>
      </form>
    );
  }
  const all = ids.length > 1 ? " all" : "";
  const isGone = there.length === 0;
  return (
    <span class="buttons">
      <button
        type="button"
        class={look}
        title={change.isProposed ? "Write it" : "Leave it as it is"}
        onClick={() => resolve(ids, [])}
      >
        {isGone ? "Dismiss" : `Keep${all}`}
      </button>
      {!isGone && (
        <button type="button" class="quiet" onClick={() => setReason("")}>
          {`Reject${all}`}
        </button>
      )}
    </span>
  );
}
