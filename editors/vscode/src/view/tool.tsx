/** A tool call: one line that says what and how it stands, and, opened, what went in and what came out. */
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { highlighted } from "./highlight";
import { Icon } from "./icons";
import type { Tool } from "./item";
import { duration, STATUS } from "./words";

const DIFF = /^--- .*\n\+\+\+ /m;

export function ToolView({ tool }: { tool: Tool }): JSX.Element {
  const [wish, setWish] = useState<boolean>();
  const isOpen = wish ?? (tool.status === "running" && tool.output !== "");
  const took = tool.durationMs !== undefined && tool.durationMs >= 1000 ? `, ${duration(tool.durationMs)}` : "";
  return (
    <details class={`step tool ${tool.status}`} open={isOpen}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          setWish(!isOpen);
        }}
      >
        <Icon name={tool.effect ?? "execute"} />
        <span class="title mono">{tool.title}</span>
        <span class="status">
          {tool.answer && tool.status !== "denied" && <span class="answer-given">{tool.answer}, </span>}
          {tool.answer && tool.status === "denied"
            ? tool.answer
            : tool.isAsked && tool.status === "running"
              ? "waits for you"
              : STATUS[tool.status]}
          {took}
        </span>
      </summary>
      {isOpen && (
        <div class="body">
          <Input tool={tool} />
          <Output text={tool.output} isLive={tool.status === "running"} />
        </div>
      )}
    </details>
  );
}

/** What went in, where the title does not say all of it. */
function Input({ tool }: { tool: Tool }): JSX.Element | null {
  const { input } = tool;
  if (typeof input === "object" && input !== null) {
    const fields = Object.entries(input).filter(([, value]) => value !== tool.title);
    return fields.length === 0 ? null : (
      <dl class="fields">
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    );
  }
  return typeof input === "string" && input ? <pre tabIndex={0}>{input}</pre> : null;
}

/** Stays at its end while it grows, unless the person has gone up. */
function Output({ text, isLive }: { text: string; isLive: boolean }): JSX.Element {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && isLive && isAtEnd.current) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [text]);
  const html = useMemo(() => (isLive || !DIFF.test(text) ? null : highlighted(text, "diff")), [text, isLive]);
  const common = {
    ref: box,
    class: "output",
    tabIndex: 0,
    role: "group" as const,
    "aria-label": "Output",
    onScroll: ({ currentTarget: at }: { currentTarget: HTMLElement }) => {
      isAtEnd.current = at.scrollTop + at.clientHeight >= at.scrollHeight - 4;
    },
  };
  return html ? (
    <pre {...common} dangerouslySetInnerHTML={{ __html: html }} />
  ) : (
    <pre {...common}>{text || (isLive ? "Nothing was printed yet." : "Nothing was printed.")}</pre>
  );
}
