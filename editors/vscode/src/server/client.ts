/** One connection with one process of `marvin lsp`: LSP by vscode-languageclient, and Marvin's own methods on top. */
import { spawn, type ChildProcess } from "node:child_process";
import type { LogOutputChannel } from "vscode";
import {
  CloseAction,
  ErrorAction,
  ErrorCodes,
  ExecuteCommandRequest,
  type ClientCapabilities,
  type DynamicFeature,
  type StaticFeature,
} from "vscode-languageclient";
import { LanguageClient, State, type LanguageClientOptions } from "vscode-languageclient/node";
import type { Notifications, ServerMarvin, ToClient, ToServer } from "../protocol";

const VERSION = 1;
/** How long it may take to say what it can do. */
const START_MS = 60_000;
const SYNCED = [{ scheme: "file" }, { scheme: "untitled" }];

export interface Command {
  /** The program and its arguments. */
  line: readonly [string, ...string[]];
  cwd: string;
  environ: NodeJS.ProcessEnv;
  /** Kills the process while it starts. */
  signal: AbortSignal;
}

/** Says to the server that this client speaks Marvin's protocol. */
const dialect: StaticFeature = {
  fillClientCapabilities(capabilities: ClientCapabilities) {
    const marvin = { protocolVersion: VERSION, documentSave: {} };
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), marvin };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};

const LOST: readonly unknown[] = [
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
  ErrorCodes.MessageWriteError,
];

/** Whether a request has failed since its server ended: it may have been done or not. */
export function isLost(error: unknown): boolean {
  return LOST.includes((error as { code?: unknown }).code);
}

/** What to do about a program that is not there, is not executable, or whose folder is gone. */
function reasonOf(error: NodeJS.ErrnoException): string {
  const reason = { ENOENT: "it is not there", EACCES: "it is not executable" }[error.code ?? ""];
  return reason ? `${reason}. Correct marvin.command in the settings, or leave it empty.` : error.message;
}

class Wire extends LanguageClient {
  constructor(
    launch: () => Promise<ChildProcess>,
    options: LanguageClientOptions,
    private readonly log: LogOutputChannel,
  ) {
    super("marvin", "Marvin", launch, options);
  }

  /** The commands of the server's code actions are the extension's own, so the client does not register them. */
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = (feature as Partial<DynamicFeature<unknown>>).registrationType?.method;
    if (method !== ExecuteCommandRequest.type.method) {
      super.registerFeature(feature);
    }
  }

  /** What goes wrong with the server is told once, by `Server`; the log has all of it. */
  override error(message: string, cause?: unknown): void {
    this.log.error(message, cause instanceof Error ? (cause.stack ?? cause.message) : (cause ?? ""));
  }
}

/** A started process; `ended` is called once when it is gone, with a few words about how. */
export class Client {
  private readonly wire: Wire;
  private child: ChildProcess | undefined;
  private said = "";
  private hasEnded = false;

  constructor(
    private readonly command: Command,
    private readonly log: LogOutputChannel,
    private readonly ended: (how: string) => void,
  ) {
    const options: LanguageClientOptions = {
      documentSelector: SYNCED,
      outputChannel: log,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          // Before those that wait for an answer hear of it, so that what they ask next goes to another process.
          this.end();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      initializationFailedHandler: () => false,
      middleware: {
        // An untitled document has no place that an action could name.
        provideCodeActions: (document, range, context, token, next) =>
          document.uri.scheme === "file" ? next(document, range, context, token) : [],
      },
    };
    this.wire = new Wire(() => this.launch(), options, log);
    this.wire.registerFeature(dialect);
    this.wire.onDidChangeState(({ newState }) => newState === State.Stopped && this.end());
  }

  /** Start it. Throws an Error with what the process said when it does not come up, or is no server that fits. */
  async start(): Promise<void> {
    const late = setTimeout(() => {
      this.said = `${this.command.line[0]} does not answer as a language server`;
      this.child?.kill("SIGKILL");
    }, START_MS);
    try {
      await this.wire.start();
    } catch (error) {
      throw new Error(this.said || (error as Error).message);
    } finally {
      clearTimeout(late);
    }
    const marvin = this.marvin;
    if (marvin?.protocolVersion !== VERSION) {
      await this.stop();
      const program = this.command.line[0];
      throw new Error(
        marvin
          ? `${program} (${marvin.version}) speaks version ${marvin.protocolVersion} of Marvin's protocol, and this extension version ${VERSION}. Update both.`
          : `${program} is no Marvin server. Set marvin.command to one.`,
      );
    }
  }

  /** What the server can do; undefined until it has said so. */
  get marvin(): ServerMarvin | undefined {
    return this.wire.initializeResult?.capabilities.experimental?.marvin as ServerMarvin | undefined;
  }

  async request<M extends keyof ToServer>(method: M, params: ToServer[M]["params"]): Promise<ToServer[M]["result"]> {
    try {
      return await this.wire.sendRequest(method, params);
    } catch (error) {
      if (isLost(error)) {
        // A write may find the process gone before the connection does.
        this.end();
      }
      throw error;
    }
  }

  hear<M extends keyof Notifications>(method: M, heard: (params: Notifications[M]) => void): void {
    this.wire.onNotification(method, heard);
  }

  answer<M extends keyof ToClient>(
    method: M,
    answer: (params: ToClient[M]["params"]) => Promise<ToClient[M]["result"]>,
  ): void {
    this.wire.onRequest(method, answer);
  }

  /** End the process in the order that LSP has; one that does not go by itself within two seconds is killed. */
  async stop(): Promise<void> {
    await this.wire.stop(2000).catch(() => undefined);
    this.child?.kill("SIGKILL");
  }

  private launch(): Promise<ChildProcess> {
    const [program, ...args] = this.command.line;
    const { cwd, environ, signal } = this.command;
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, { cwd, env: environ, stdio: "pipe", signal, killSignal: "SIGKILL" });
      child.once("error", (error) => reject(new Error(`${program} cannot be started: ${reasonOf(error)}`)));
      child.once("spawn", () => resolve(child));
      child.once("exit", (code, signal) => {
        const how = signal ? `signal ${signal}` : `exit code ${code}`;
        this.said ||= how;
        // The connection ends before its process is known to have.
        this.log.info(`The server's process has ended: ${how}.`);
      });
      child.stderr.on("data", (chunk: Buffer) => (this.said = chunk.toString().trim().split("\n").at(-1) || this.said));
      this.child = child;
    });
  }

  private end(): void {
    if (!this.hasEnded) {
      this.hasEnded = true;
      this.child?.kill("SIGKILL");
      this.ended(this.said || "it closed the connection");
    }
  }
}
