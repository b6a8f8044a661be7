/** What the chat view asks for, done. */
import { randomUUID } from "node:crypto";
import type { ContextPieces, Taken } from "../context";
import type { Conversations } from "../conversations";
import type { Review } from "../review/review";
import { ask, warn } from "../say";
import { isLost } from "../server/client";
import type { Server } from "../server/server";
import type { Answers, Request } from "../shared/messages";
import { titleOf } from "../shared/title";
import { complete } from "../symbols";
import { takeBack } from "../turns";
import { addContext } from "./adding";
import type { Chat } from "./chat";
import type { Drafts } from "./drafts";

type Method = Request["method"];
type Params<M extends Method> = Extract<Request, { method: M }>["params"];
type Answer<M extends Method> = M extends keyof Answers ? Answers[M] : void;
type Handlers = { [M in Method]: (params: Params<M>) => Promise<Answer<M>> };

/** What goes with a command, which no model reads. */
const NOTHING: Taken = { context: [], gone: [], putBack: () => undefined };

export class Requests {
  private readonly handlers: Handlers;

  constructor(
    server: Server,
    conversations: Conversations,
    chat: Chat,
    pieces: ContextPieces,
    drafts: Drafts,
    review: Review,
  ) {
    this.handlers = {
      async send({ sessionId, text, pictures, whenBusy }) {
        const { context, gone, putBack } = (await isCommand(server, sessionId, text))
          ? NOTHING
          : pieces.take(sessionId);
        try {
          const images = pictures.map(({ mimeType, data }) => ({ type: "image" as const, mimeType, data }));
          const input = [{ type: "text" as const, text }, ...images];
          const prompt = { sessionId, clientTurnId: randomUUID(), input, context, whenBusy };
          const start = () => server.request("marvin/turn/start", prompt);
          // With its id it is one turn, however often it is sent: the server may have ended before or after it began.
          const started = await start().catch((error: unknown) => (isLost(error) ? start() : Promise.reject(error)));
          if (gone.length > 0) {
            void warn(`Marvin: ${gone.join(", ")} is gone and was left out.`);
          }
          return started;
        } catch (error) {
          putBack();
          throw error;
        }
      },
      async cancel(params) {
        await server.request("marvin/turn/cancel", params);
      },
      answer: (params) => server.request("marvin/permission/answer", params),
      async resolve({ patchId, accept, reject }) {
        return review.resolve(patchId, accept, reject);
      },
      undo: ({ sessionId, turnId }) => takeBack("undo", server, conversations, sessionId, turnId),
      redo: ({ sessionId, turnId }) => takeBack("redo", server, conversations, sessionId, turnId),
      complete: (params) => complete(server, params),
      sessions: ({ query, cursor }) => chat.sessions(query, cursor),
      async open({ sessionId }) {
        await chat.open(sessionId);
      },
      new: () => chat.beginAnew(),
      async fork(params) {
        const { session } = await server.request("marvin/session/fork", params);
        await chat.open(conversations.of(session).session.id);
      },
      async rename({ sessionId, title }) {
        conversations.of((await server.request("marvin/session/update", { sessionId, title })).session);
      },
      async archive({ sessionId }) {
        await server.request("marvin/session/update", { sessionId, archived: true });
        if (chat.current?.session.id === sessionId) {
          await chat.begin({ cwd: chat.current.session.cwd });
        }
      },
      async delete({ sessionId }) {
        const { session } = await server.request("marvin/session/load", { sessionId });
        const lines = ["What was said in it cannot be brought back. Files are left as they are."];
        if (await ask(`Delete the session “${titleOf(session)}”?`, lines, "Delete")) {
          await server.request("marvin/session/delete", { sessionId });
          await drafts.put(sessionId, { text: "", at: Date.now() }, []);
          pieces.forget(sessionId);
          conversations.forget(sessionId);
        }
      },
      async older({ sessionId, before }) {
        const { items, cursor } = await server.request("marvin/session/load", { sessionId, before });
        chat.post({ type: "older", sessionId, items, ...(cursor !== undefined && { cursor }) });
      },
      async setOption(params) {
        const { options } = await server.request("marvin/config/set", params);
        chat.post({ type: "options", options });
      },
      models: () => server.request("marvin/models/list", {}),
      addContext: ({ kind }) => addContext(pieces, kind),
    };
  }

  /** Throws an Error whose message is for the person. */
  handle({ method, params }: Request): Promise<unknown> {
    return (this.handlers[method] as (params: Request["params"]) => Promise<unknown>)(params);
  }
}

async function isCommand(server: Server, sessionId: string, text: string): Promise<boolean> {
  const name = /^\s*\/([a-z]+)/.exec(text)?.[1];
  return (
    name !== undefined &&
    (await server.request("marvin/command/list", { sessionId })).commands.some((command) => command.name === name)
  );
}
