/** Lists to choose from: sessions, models, modes, what Marvin can do. */
import * as vscode from "vscode";
import type { Chat } from "./chat/chat";
import type { Conversation } from "./conversation";
import type { Session } from "./protocol";
import { inform } from "./say";
import type { Server } from "./server/server";
import { usageOf } from "./status";
import { titleOf } from "./shared/title";

/** Choose a session of this workspace; what is typed is looked for in all that was said. */
export async function pickSession(chat: Chat, show: () => Promise<void>): Promise<void> {
  const { sessions } = await chat.sessions("");
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { session: Session }>();
  const found = (list: readonly Session[]) => {
    pick.items = list.map((session) => ({
      label: titleOf(session),
      description: new Date(session.updatedAt).toLocaleString(),
      detail: session.busy ? (session.activity ?? "at work") : "",
      alwaysShow: true,
      session,
    }));
  };
  pick.title = "Marvin: Sessions";
  pick.placeholder = "Words that were said";
  found(sessions);
  let asked = 0;
  pick.onDidChangeValue(async (query) => {
    const own = ++asked;
    pick.busy = true;
    const list = await chat.sessions(query).catch(() => undefined);
    if (own === asked) {
      pick.busy = false;
      found(list?.sessions ?? []);
    }
  });
  pick.onDidAccept(async () => {
    const session = pick.selectedItems[0]?.session;
    pick.hide();
    if (session) {
      await chat.open(session.id);
      await show();
    }
  });
  pick.onDidHide(() => pick.dispose());
  pick.show();
}

/** Change an option of the shown session. */
export async function pickOption(server: Server, chat: Chat, name: "mode" | "model" | "thinking"): Promise<void> {
  const sessionId = (await chat.ensure()).session.id;
  const { options } = await server.request("marvin/config/get", { sessionId });
  const option = options.find((each) => each.name === name);
  if (!option) {
    throw new Error(`This server has no option ${name}.`);
  }
  const now = (which: string) => String(options.find((each) => each.name === which)?.value ?? "");
  const choices = option.choices.map(({ value, title, description }) => ({
    label: title,
    description: String(value) === now(name) ? "now" : "",
    detail: description ?? "",
    set: [[name, String(value)]] as Choice["set"],
  }));
  const items: Choice[] = choices.length > 0 || name !== "model" ? choices : await models(server, now);
  const chosen = await vscode.window.showQuickPick(items, { title: `Marvin: ${option.title}`, matchOnDetail: true });
  for (const [which, value] of chosen?.set ?? []) {
    await server.request("marvin/config/set", { sessionId, name: which, value });
  }
  await chat.tellOptions();
}

/** The options that a choice sets, in this order. */
interface Choice extends vscode.QuickPickItem {
  set: [name: string, value: string][];
}

async function models(server: Server, now: (name: string) => string): Promise<Choice[]> {
  const { providers } = await server.request("marvin/models/list", {});
  return providers
    .filter(({ status }) => status === "ready")
    .flatMap(({ id: provider, models }) =>
      models.map(({ id }) => ({
        label: id,
        description: id === now("model") && provider === now("provider") ? `${provider}, now` : provider,
        set: [...(provider === now("provider") ? [] : [["provider", provider]]), ["model", id]] as Choice["set"],
      })),
    );
}

/** Tokens and money of the shown session. */
export function showUsage({ title, usage, session }: Conversation): void {
  const { input, output, cacheRead } = usage?.tokens ?? { input: 0, output: 0, cacheRead: 0 };
  const count = (tokens: number) => tokens.toLocaleString("en");
  const tokens = `${count(input)} tokens read (${count(cacheRead)} of them cached), ${count(output)} written`;
  const text = `${title}: ${tokens}; ${usage ? usageOf(usage) : "nothing used yet"}; model ${session.model}.`;
  void inform(`Marvin: ${text}`);
}

/** What runs beside turns. */
export async function showJobs(server: Server): Promise<void> {
  const { jobs } = await server.request("marvin/job/list", {});
  if (jobs.length === 0) {
    void inform("Marvin: nothing runs beside the conversations.");
    return;
  }
  const items = jobs.map(({ id: jobId, title, state, kind }) => ({
    label: title,
    description: `${kind}, ${state}`,
    jobId,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: "Marvin: Jobs", placeHolder: "Cancel a job" });
  if (chosen) {
    await server.request("marvin/job/cancel", { jobId: chosen.jobId });
  }
}

const MENU = [
  ["Open the chat", "marvin.open"],
  ["New session", "marvin.new"],
  ["Sessions", "marvin.sessions"],
  ["Next change to review", "marvin.nextHunk"],
  ["Model", "marvin.selectModel"],
  ["Mode", "marvin.selectMode"],
  ["Thinking", "marvin.selectThinking"],
  ["Usage", "marvin.usage"],
  ["Jobs", "marvin.jobs"],
  ["Log", "marvin.showLog"],
  ["Restart the server", "marvin.restart"],
] as const;

export async function pickCommand(): Promise<void> {
  const items = MENU.map(([label, command]) => ({ label, command }));
  const chosen = await vscode.window.showQuickPick(items, { title: "Marvin" });
  if (chosen) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
