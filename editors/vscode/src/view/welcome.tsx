/** The first screen of an empty session: what can be done here. */
import type { JSX } from "preact";
import { update } from "./store";

const EXAMPLES = [
  "What does this project do, and where does it begin?",
  "Find out why the tests fail, and fix it.",
  "Look at my uncommitted changes: what would you change?",
];

export function Welcome(): JSX.Element {
  return (
    <section class="welcome" aria-label="What can be done here">
      <p>
        Ask about this workspace, or say what to do. Marvin reads files by itself and asks before it runs a command.
        What it writes, you keep or reject, piece by piece.
      </p>
      <ul>
        {EXAMPLES.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => update({ draft: { text, pictures: [] } })}>
              {text}
            </button>
          </li>
        ))}
      </ul>
      <dl class="keys">
        <div>
          <dt>
            <kbd>@</kbd>
          </dt>
          <dd>names a file</dd>
        </div>
        <div>
          <dt>
            <kbd>#</kbd>
          </dt>
          <dd>names a symbol</dd>
        </div>
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>gives a command</dd>
        </div>
        <div>
          <dt>
            <kbd>↑</kbd>
          </dt>
          <dd>brings back what you said</dd>
        </div>
        <div>
          <dt>
            <kbd>Shift</kbd> <kbd>Enter</kbd>
          </dt>
          <dd>begins a new line</dd>
        </div>
      </dl>
    </section>
  );
}
