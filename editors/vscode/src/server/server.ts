/** The server as the rest of the extension sees it: started when it is needed, noticed when it dies, started again. */
import { join } from "node:path";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import * as vscode from "vscode";
import type { Notifications, ToServer } from "../protocol";
import type { Connection } from "../shared/messages";
import { during } from "../say";
import { Client, type Command } from "./client";
import { install } from "./install";
import { locate } from "./locate";
import { save } from "./saving";

const WITHIN_MS = 60_000;
/** A start that takes longer than this many ms can be begun anew by the person. */
const SLOW_MS = 5_000;
/** How long to wait before each new start, in ms; a server that dies once more stays down. */
const BACK_OFF = [0, 1000, 5000];
const NOTIFICATIONS = [
  "marvin/turn/events",
  "marvin/session/changed",
  "marvin/session/deleted",
  "marvin/status/changed",
] as const;

export class Server {
  private readonly stateChanged = new vscode.EventEmitter<Connection>();
  private readonly told = new vscode.EventEmitter<Told>();
  private client: Client | undefined;
  private starting: { client: Promise<Client>; abort: AbortController } | undefined;
  private deaths: number[] = [];
  private again: NodeJS.Timeout | undefined;
  private is: Connection = { state: "stopped", message: "" };
  private lacksProgram = false;

  /** Every change; with `ready` a new process has come up, and everything else means that there is none. */
  readonly onState = this.stateChanged.event;
  /** Marvin's notifications. */
  readonly onTold = this.told.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
  ) {}

  get state(): Connection {
    return this.is;
  }

  /** Whether it could not be started since there is no program. */
  get isMissing(): boolean {
    return this.is.state === "failed" && this.lacksProgram;
  }

  /**
   * Ask the server; it is started when it does not run, but for one that has failed, which the person starts again.
   * Throws an Error whose message is for the person.
   */
  async request<M extends keyof ToServer>(method: M, params: ToServer[M]["params"]): Promise<ToServer[M]["result"]> {
    if (this.is.state === "failed") {
      throw new Error(this.is.message);
    }
    return (await this.start()).request(method, params);
  }

  /** Start it unless it runs. Throws as `request` does. */
  start(): Promise<Client> {
    if (this.client) {
      return Promise.resolve(this.client);
    }
    if (!this.starting) {
      const abort = new AbortController();
      const client = this.launch(abort.signal).finally(() => (this.starting = undefined));
      this.starting = { client, abort };
    }
    return this.starting.client;
  }

  /** Start it anew; how that went is told by its state. */
  async restart(): Promise<void> {
    this.deaths = [];
    await this.stop();
    await this.start().catch(() => undefined);
  }

  /** End it, also while it starts, until it is needed again. */
  async stop(): Promise<void> {
    clearTimeout(this.again);
    this.starting?.abort.abort();
    await this.starting?.client.catch(() => undefined);
    const client = this.client;
    this.client = undefined;
    await client?.stop();
    this.become("stopped", "Marvin's server is stopped.", "Start");
  }

  /** Where a session works that belongs to no folder of the workspace: a folder with nothing in it. */
  async emptyFolder(): Promise<string> {
    const path = join(this.context.globalStorageUri.fsPath, "no-folder");
    await mkdir(path, { recursive: true });
    return path;
  }

  /** Install Marvin for this extension alone, and start it. */
  async install(): Promise<void> {
    await during("Installing Marvin", async (tell, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      const log = (text: string) => {
        this.log.info(text);
        tell(text.split("\n").at(-1) ?? "");
      };
      await mkdir(this.context.globalStorageUri.fsPath, { recursive: true });
      await install(this.ownEnvironment, this.environ(), log, abort.signal);
    });
    await this.restart();
  }

  private async launch(signal: AbortSignal): Promise<Client> {
    if (!vscode.workspace.isTrusted) {
      const why =
        "Marvin does not start in a workspace that is not trusted: it would read its files and run its tools.";
      this.become("stopped", `${why} Trust the workspace to use it.`, "Manage Trust");
      throw new Error(this.is.message);
    }
    this.become("starting", "Marvin's server is being started.");
    this.lacksProgram = false;
    const slow = () => this.become("starting", "Marvin's server has not answered yet; it is waited for.", "Restart");
    const timer = setTimeout(slow, SLOW_MS);
    try {
      const client = new Client(await this.command(signal), this.log, (how) => this.lost(client, how));
      for (const method of NOTIFICATIONS) {
        client.hear(method, (params) => this.told.fire({ method, params } as Told));
      }
      client.answer("marvin/document/save", save);
      await client.start();
      signal.throwIfAborted();
      this.client = client;
      this.become("ready", `Marvin ${client.marvin?.version} is ready.`);
      return client;
    } catch (error) {
      if (signal.aborted) {
        throw new Error("Marvin's server was stopped while it was being started.");
      }
      this.lacksProgram = error instanceof NotFound;
      this.become("failed", (error as Error).message, this.lacksProgram ? "Install Marvin" : "Restart");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private async command(signal: AbortSignal): Promise<Command> {
    const environ = this.environ();
    const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? (await this.emptyFolder());
    const [named, ...args] = vscode.workspace.getConfiguration("marvin").get<string[]>("command", []);
    if (named) {
      const program = named.startsWith("~/") ? join(homedir(), named.slice(2)) : named;
      return { line: [program, ...(args.length > 0 ? args : ["lsp"])], cwd, environ, signal };
    }
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
    const { path, others } = await locate({ environ, own: this.ownEnvironment, folders, signal });
    if (path) {
      return { line: [path, "lsp"], cwd, environ, signal };
    }
    const seen = others.length > 0 ? ` (${others.join(", ")} is another product of that name)` : "";
    throw new NotFound(
      `Marvin was not found${seen}. Let the extension install it, or set marvin.command to where it is.`,
    );
  }

  private environ(): NodeJS.ProcessEnv {
    const own = vscode.workspace.getConfiguration("marvin").get<Record<string, string>>("env", {});
    return { ...process.env, ...own };
  }

  private get ownEnvironment(): string {
    return join(this.context.globalStorageUri.fsPath, "environment");
  }

  private lost(client: Client, how: string): void {
    if (this.client !== client) {
      return;
    }
    this.client = undefined;
    const now = Date.now();
    this.deaths = [...this.deaths.filter((at) => now - at < WITHIN_MS), now];
    const wait = BACK_OFF[this.deaths.length - 1];
    if (wait === undefined) {
      this.become(
        "failed",
        `Marvin's server has ended again and again (${how}). Restart it when you know why.`,
        "Restart",
      );
      return;
    }
    this.become("starting", `Marvin's server has ended (${how}); it is started again.`);
    this.again = setTimeout(() => void this.start().catch(() => undefined), wait);
  }

  private become(state: Connection["state"], message: string, remedy?: string): void {
    this.is = { state, message, ...(remedy !== undefined && { remedy }) };
    this.log[state === "failed" ? "error" : "info"](message);
    this.stateChanged.fire(this.is);
  }
}

/** No program is there that could be started. */
class NotFound extends Error {}

/** A notification of the server's. */
export type Told = { [M in keyof Notifications]: { method: M; params: Notifications[M] } }[keyof Notifications];
