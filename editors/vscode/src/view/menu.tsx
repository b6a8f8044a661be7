/** A button that opens a list of things to do, after the ARIA menu button pattern. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

export interface Action {
  label: string;
  run(): void;
}

interface Props {
  label: string;
  icon: IconName;
  actions: readonly Action[];
  side?: "left" | "right";
  tabIndex?: number;
}

export function Menu({ label, icon, actions, side = "right", tabIndex }: Props): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => setOpen(false);
  const choose = (action: Action) => {
    close();
    button.current?.focus();
    action.run();
  };
  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        class="quiet"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        tabIndex={tabIndex}
        onClick={() => (isOpen ? close() : setOpen(true))}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <Popup class={side} role="menu" label={label} onClose={close} opener={button}>
          {actions.map((action) => (
            <button key={action.label} type="button" role="menuitem" tabIndex={-1} onClick={() => choose(action)}>
              {action.label}
            </button>
          ))}
        </Popup>
      )}
    </span>
  );
}

interface PopupProps {
  class: string;
  role: "menu" | "dialog";
  label: string;
  opener: { current: HTMLElement | null };
  onClose(): void;
  children: ComponentChildren;
}

/** Takes the focus, moves it among its buttons with the arrows, and gives it back on Escape. */
export function Popup({ class: name, role, label, opener, onClose, children }: PopupProps): JSX.Element {
  const popup = useRef<HTMLDivElement>(null);
  const items = () => [...(popup.current?.querySelectorAll<HTMLElement>("input, button") ?? [])];
  useEffect(() => {
    items()[0]?.focus();
    const leave = (event: Event) => {
      const target = event.target as Node;
      if (!popup.current?.contains(target) && !opener.current?.contains(target)) {
        onClose();
      }
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    const isCaret = event.target instanceof HTMLInputElement && (event.key === "Home" || event.key === "End");
    if (next !== undefined && !isCaret) {
      event.preventDefault();
      all[(next + all.length) % all.length]?.focus();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      onClose();
      opener.current?.focus();
    }
  };
  return (
    <div ref={popup} class={`popup ${name}`} role={role} aria-label={label} onKeyDown={onKeyDown}>
      {children}
    </div>
  );
}
