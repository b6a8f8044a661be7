/** The view's side of the messages to and from the extension host. */
import type { Answers, FromView, Request, ToView } from "../shared/messages";

interface Host {
  postMessage(message: FromView): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): Host;

export type Params<M extends Request["method"]> = Extract<Request, { method: M }>["params"];
export type Answer<M extends Request["method"]> = M extends keyof Answers ? Answers[M] : null;

const host = acquireVsCodeApi();
const open = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
let last = 0;

export function post(message: FromView): void {
  host.postMessage(message);
}

/** @throws Error with a sentence for the person, when the host could not do it. */
export function request<M extends Request["method"]>(method: M, params: Params<M>): Promise<Answer<M>> {
  const id = (last += 1);
  return new Promise((resolve, reject) => {
    open.set(id, { resolve: resolve as (result: unknown) => void, reject });
    host.postMessage({ type: "request", id, method, params } as FromView);
  });
}

/** Be told of all that the host says by itself. */
export function listen(take: (message: Exclude<ToView, { type: "answer" }>) => void): void {
  addEventListener("message", ({ data }: MessageEvent<ToView>) => {
    if (data.type !== "answer") {
      take(data);
      return;
    }
    const waits = open.get(data.id);
    open.delete(data.id);
    if (data.error !== undefined) {
      waits?.reject(new Error(data.error));
    } else {
      waits?.resolve(data.result ?? null);
    }
  });
}

/** What outlives this page; undefined where nothing was kept. */
export function kept(): unknown {
  return host.getState();
}

export function keep(state: unknown): void {
  host.setState(state);
}
