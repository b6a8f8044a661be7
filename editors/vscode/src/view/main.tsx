import { render } from "preact";
import { App } from "./app";
import { watch } from "./store";
import "./view.css";

const root = document.getElementById("root") as HTMLElement;
watch((state) => render(<App state={state} />, root));
