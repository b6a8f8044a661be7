// A session of which nothing is known yet, and a turn that has used nothing.
import type { Session } from "../../editors/vscode/src/protocol";

export const session: Session = {
  id: "s",
  title: "",
  cwd: "/workspace",
  mode: "auto",
  model: "m",
  createdAt: "",
  updatedAt: "",
  busy: false,
};
export const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
