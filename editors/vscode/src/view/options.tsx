/** The selectors of a session's options. The server says which there are, and it alone decides what they may be. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { ModelsListResult, Option } from "../protocol";
import { request } from "./host";
import { Icon } from "./icons";
import { Popup } from "./menu";
import { attempt } from "./store";
import { tokens } from "./words";

interface Props {
  options: readonly Option[];
  sessionId: string;
}

export function Options({ options, sessionId }: Props): JSX.Element {
  return (
    <>
      {options.map((option) =>
        option.name === "model" ? (
          <ModelPicker key={option.name} option={option} sessionId={sessionId} options={options} />
        ) : option.name === "provider" ? null : (
          <Choose key={option.name} option={option} sessionId={sessionId} />
        ),
      )}
    </>
  );
}

function Choose({ option, sessionId }: { option: Option; sessionId: string }): JSX.Element {
  const chosen = option.choices.find((choice) => choice.value === option.value);
  return (
    <label class={`option ${option.name}`} title={`${option.title}: ${chosen?.description ?? String(option.value)}`}>
      {option.name === "thinking" && <Icon name="thought" />}
      <select
        aria-label={option.title}
        value={String(option.value)}
        onChange={(event) =>
          void attempt("setOption", { sessionId, name: option.name, value: event.currentTarget.value })
        }
      >
        {!chosen && <option value={String(option.value)}>{String(option.value)}</option>}
        {option.choices.map((choice) => (
          <option key={String(choice.value)} value={String(choice.value)} title={choice.description}>
            {choice.title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A model goes with its provider: choosing one of another provider changes both. Any name can be typed. */
function ModelPicker({ option, options, sessionId }: Props & { option: Option }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [filter, setFilter] = useState("");
  const [list, setList] = useState<ModelsListResult>();
  const [problem, setProblem] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  const provider = String(options.find(({ name }) => name === "provider")?.value ?? "");
  const show = () => {
    setOpen(true);
    setFilter("");
    setProblem("");
    request("models", {}).then(setList, (error: Error) => setProblem(error.message));
  };
  const choose = async (value: string, of = provider) => {
    setOpen(false);
    button.current?.focus();
    if (of !== provider && (await attempt("setOption", { sessionId, name: "provider", value: of })) === undefined) {
      return;
    }
    await attempt("setOption", { sessionId, name: "model", value });
  };
  const wanted = filter.trim();
  const rank = ({ id, status }: ModelsListResult["providers"][number]) =>
    id === provider ? 0 : status === "unavailable" ? 2 : 1;
  const found = (list?.providers ?? [])
    .toSorted((one, other) => rank(one) - rank(other))
    .map((each) => ({ ...each, models: each.models.filter(({ id }) => `${each.id} ${id}`.includes(wanted)) }))
    .filter((each) => each.models.length > 0);
  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        class="quiet model"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-label={`${option.title}: ${String(option.value)}`}
        title={`${option.title} (${provider})`}
        onClick={() => (isOpen ? setOpen(false) : show())}
      >
        {String(option.value) || "model"}
      </button>
      {isOpen && (
        <Popup class="left models" role="dialog" label="Choose a model" opener={button} onClose={() => setOpen(false)}>
          <input
            type="text"
            aria-label="Filter, or the name of a model"
            placeholder="Filter, or any model's name"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") {
                event.preventDefault();
                if (wanted) {
                  void choose(found[0]?.models[0]?.id ?? wanted, found[0]?.id ?? provider);
                }
              }
            }}
          />
          <div class="list">
            {problem && <p class="hint">{problem}</p>}
            {!list && !problem && <p class="hint">Asking which there are…</p>}
            {found.map((each) => (
              <section key={each.id} aria-label={each.id}>
                <h3 title={each.advice ?? each.message}>
                  {each.id}
                  {each.status === "unavailable" && <span class="hint"> {each.advice ?? each.message}</span>}
                </h3>
                {each.models.map(({ id, contextSize }) => (
                  <button
                    key={id}
                    type="button"
                    aria-pressed={id === option.value && each.id === provider}
                    onClick={() => void choose(id, each.id)}
                  >
                    <span>{id}</span>
                    {contextSize !== undefined && <span class="detail">{`${tokens(contextSize)} tokens`}</span>}
                  </button>
                ))}
              </section>
            ))}
            {list && wanted && found.length === 0 && (
              <button type="button" onClick={() => void choose(wanted)}>{`Use “${wanted}”`}</button>
            )}
          </div>
        </Popup>
      )}
    </span>
  );
}
