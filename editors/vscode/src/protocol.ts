// Made from docs/protocol.schema.json by `npm run types`; not to be edited.

/**
 * The whole text of an open document.
 */
export interface BufferContext {
  type: "buffer";
  uri: string;
  version: number;
}
/**
 * The most that may be spent in a session, a day or a month, and what was: USD, as far as prices are known.
 */
export interface Cap {
  span: "day" | "month" | "session";
  capUsd: number;
  spentUsd: number;
}
/**
 * One of the values that an option takes.
 */
export interface Choice {
  value: boolean | number | string;
  title: string;
  description?: string;
}
/**
 * `optOut` are kinds of events that are not wanted, by the first word of their type; never turns and permissions. `documentSave`: it answers ``marvin/document/save``.
 */
export interface ClientMarvin {
  protocolVersion: number;
  optOut?: string[];
  documentSave?: Marker;
}
/**
 * That a feature is there.
 */
export interface Marker {}
/**
 * Exactly what would run: the text, the shell that reads it, the directory, and changed variables. Of a person's own tool that shows no command, the text is the call and the shell is the tool's file. `sandbox` says what would confine it, in a few words; empty when nothing is said. `revealed` is `display` with all that hides in it made visible, None where that is the same; it is for editors, which get it from their server.
 */
export interface Command {
  display: string;
  shell: string;
  cwd: string;
  envChanges: {
    [k: string]: string;
  };
  scripts: Script[];
  sandbox: string;
  revealed?: string;
}
/**
 * A file that a command would run and that was changed in this session; `path` is relative to the root. The `text` is all of it, but for a first line in brackets where there is more to say. `digest` is of the content, empty for one that was not read and is not shown.
 */
export interface Script {
  path: string;
  text: string;
  digest: string;
}
export interface CommandListParams {
  sessionId: string;
}
export interface CommandListResult {
  commands: SlashCommand[];
}
/**
 * `name` is without the slash; `argumentHint` says what may follow it.
 */
export interface SlashCommand {
  name: string;
  description: string;
  argumentHint?: string;
}
/**
 * Of the conversation, the model reads from now on `message`, a summary, in the place of `replaced` messages, and those from the one whose id is `keeps` on (None: only those that follow). All of it stays in the store, and this is on disk when a front-end sees it. `reason` is the context's budget, a vendor that refused the request as too long, the model's or the person's wish; of `undo`, `message` is the summary that was there before, None where there was none. `by` is the model that wrote the summary, None where none did, and `note` then says why. Tokens are estimates for all that is in view.
 */
export interface Compacted {
  type: "compaction";
  id: string;
  message?: Message;
  replaced: number;
  keeps?: string;
  tokensBefore: number;
  tokensAfter: number;
  reason: "budget" | "model" | "overflow" | "person" | "undo";
  by?: string;
  note?: string;
}
/**
 * One unit of the transcript. A `tool` message answers every tool call of the assistant message before it. `vendor` is opaque: a provider puts what its endpoint wants back (signatures, reasoning ids) there and gets it unchanged with the next request.
 */
export interface Message {
  role: "assistant" | "tool" | "user";
  parts: (Text | Thinking | Image | ToolCall | ToolResult)[];
  id: string;
  finish?: "filtered" | "interrupted" | "length" | "stop" | "toolCalls";
  provider?: string;
  model?: string;
  usage?: Usage;
}
/**
 * What a person or a model wrote. With a `label`, a few words, it is what an editor has added to a prompt, from the document `uri` where it is from one.
 */
export interface Text {
  type: "text";
  text: string;
  label?: string;
  uri?: string;
}
/**
 * A model's visible reasoning; kept apart from its answer.
 */
export interface Thinking {
  type: "thinking";
  text: string;
}
/**
 * A picture: `data` is base64 text of the bytes, `mimeType` such as ``image/png``.
 */
export interface Image {
  type: "image";
  mimeType: string;
  data: string;
}
/**
 * A model's request to run a tool. `arguments` is the JSON text exactly as the model wrote it.
 */
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: string;
}
/**
 * The answer to the tool call whose id is `callId`; `text` is what the model reads.
 */
export interface ToolResult {
  type: "toolResult";
  callId: string;
  name: string;
  text: string;
  status: "cancelled" | "denied" | "error" | "ok";
  images: Image[];
}
/**
 * Tokens of one or more model requests. `input` counts all prompt tokens, cached ones included.
 */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}
/**
 * What the model reads in the place of earlier messages from here on, or that a summary was taken back, as the event told it.
 */
export interface CompactionItem {
  kind: "compaction";
  id: string;
  createdAt: string;
  parentId?: string;
  turnId?: string;
  compaction: Compacted;
}
/**
 * The prompt as it is, and the `cursor` in it: from 0, in units of the negotiated encoding.
 */
export interface CompleteParams {
  text: string;
  cursor: number;
  sessionId?: string;
}
/**
 * The best first.
 */
export interface CompleteResult {
  items: Completion[];
}
/**
 * `insertText` takes the place of the word before the cursor, with its ``@``, ``/`` or ``#``.
 */
export interface Completion {
  label: string;
  insertText: string;
  kind: "command" | "file" | "folder" | "symbol";
  detail?: string;
}
/**
 * Without a session, what holds for new ones.
 */
export interface ConfigGetParams {
  sessionId?: string;
}
/**
 * All options, in the order in which they are to be shown.
 */
export interface ConfigResult {
  options: Option[];
}
/**
 * `mode`, `model`, `thinking` and others; without `choices` it takes any value of its type.
 */
export interface Option {
  name: string;
  title: string;
  value: boolean | number | string;
  choices: Choice[];
}
/**
 * Without a session, for new ones of this connection.
 */
export interface ConfigSetParams {
  name: string;
  value: boolean | number | string;
  sessionId?: string;
}
/**
 * One part of the next request. `kind` is rules, person, instructions, skills, toolsets, earlier, map, pin, place, tools or conversation. Of one that was dropped `isSent` is false. The costs are in USD: of a request, and of one which finds the block in the vendor's cache.
 */
export interface ContextBlock {
  name: string;
  kind: string;
  tokens: number;
  canDrop: boolean;
  isSent: boolean;
  costUsd?: number;
  cachedCostUsd?: number;
}
export interface ContextGetParams {
  sessionId: string;
}
/**
 * The blocks in the order in which they are sent, and their sums; `contextSize` is what the model reads, in tokens. `notes` are lines for the person on what is not in it.
 */
export interface ContextResult {
  blocks: ContextBlock[];
  tokens: number;
  notes: string[];
  contextSize?: number;
  costUsd?: number;
  cachedCostUsd?: number;
}
/**
 * `pin` are paths of files that are kept in the prompt; `drop` names pins and blocks that are left out, `restore` blocks that were dropped.
 */
export interface ContextSetParams {
  sessionId: string;
  pin?: string[];
  drop?: string[];
  restore?: string[];
}
/**
 * LSP's own; `severity` is 1 (error) to 4 (hint).
 */
export interface Diagnostic {
  range: Range;
  message: string;
  severity?: number;
  source?: string;
  code?: number | string;
}
/**
 * From `start` up to `end`, without it.
 */
export interface Range {
  start: Position;
  end: Position;
}
/**
 * A place between two characters: `line` from 0, `character` from 0 in units of the negotiated encoding.
 */
export interface Position {
  line: number;
  character: number;
}
/**
 * What the editor's other servers say of a document; without `items`, that there is nothing.
 */
export interface DiagnosticsContext {
  type: "diagnostics";
  uri: string;
  items?: Diagnostic[];
}
/**
 * Open documents whose unsaved changes are all Marvin's.
 */
export interface DocumentSaveParams {
  uris: string[];
}
/**
 * Those that are on disk now.
 */
export interface DocumentSaveResult {
  saved: string[];
}
/**
 * It is done, and there is nothing to say about it.
 */
export interface Done {}
/**
 * A prompt that waited when its server ended, or when the turn that it was for was stopped. Nothing starts it by itself.
 */
export interface Draft {
  id: string;
  createdAt: string;
  message: Message;
}
/**
 * What becomes of one file. `path` is relative to the workspace root; with `uri` it is the place before. `newPath` and `newUri` are where the file goes, `executable` whether it gets or loses that permission; None keeps either. A file that is added or deleted has one hunk, unless it is empty.
 */
export interface Edit {
  kind: "add" | "delete" | "update";
  path: string;
  uri: string;
  hunks: Hunk[];
  newPath?: string;
  newUri?: string;
  executable?: boolean;
}
/**
 * Old lines of a file that become new ones; lines have their ends. `oldStart` and `newStart` are the numbers, from 1, of the first line on each side; where a side has no lines, of the line that they would come before. `id` depends on the path and on the lines, not on where they are.
 */
export interface Hunk {
  id: string;
  oldStart: number;
  oldLines: string[];
  newStart: number;
  newLines: string[];
}
/**
 * The `data` of an error. `retryable`: the same request may work later. `status` (HTTP) and `retryAfterMs` come with `provider`, where they are known.
 */
export interface ErrorData {
  kind: string;
  retryable: boolean;
  status?: number;
  retryAfterMs?: number;
}
/**
 * A file that was left alone, and why.
 */
export interface FailedFile {
  path: string;
  reason: string;
  conflicts: FileConflict[];
}
/**
 * Lines that were changed by somebody else since: `line` (from 1) is the first, `ours` are those that are there, `theirs` those that would have been put there.
 */
export interface FileConflict {
  line: number;
  ours: string[];
  theirs: string[];
}
/**
 * `reason` is `stale` where its lines are not there any more, or are there more than once.
 */
export interface FailedHunk {
  hunkId: string;
  reason: string;
}
/**
 * Why a turn failed: `kind` is the error's class name, `retryable` whether the same prompt may work later.
 */
export interface Failure {
  kind: string;
  message: string;
  retryable: boolean;
}
/**
 * The file is meant; the model may read it.
 */
export interface FileContext {
  type: "file";
  uri: string;
}
/**
 * What was changed since the last commit, or only what is `staged`; of one file with `uri`.
 */
export interface GitDiffContext {
  type: "gitDiff";
  uri?: string;
  staged?: boolean;
}
/**
 * A picture that the prompt is about.
 */
export interface ImageContext {
  type: "image";
  mimeType: string;
  data: string;
}
/**
 * A picture; `data` is base64, `mimeType` such as ``image/png``.
 */
export interface ImageInput {
  type: "image";
  mimeType: string;
  data: string;
}
/**
 * `nextRunAt` is when one that waits runs; `result` is what one that ended has to say.
 */
export interface Job {
  id: string;
  kind: "review" | "schedule" | "subAgent" | "timer";
  title: string;
  state: "cancelled" | "failed" | "finished" | "running" | "waiting";
  nextRunAt?: string;
  result?: string;
}
export interface JobCancelParams {
  jobId: string;
}
export interface JobChangedParams {
  job: Job;
}
/**
 * All that wait or run, and those that ended since the server began.
 */
export interface JobsResult {
  jobs: Job[];
}
/**
 * `messageBytes` is the longest message that is taken, `imageBytes` the largest picture, without base64.
 */
export interface Limits {
  messageBytes: number;
  imageBytes: number;
}
export interface MessageDelta {
  type: "message.delta";
  messageId: string;
  text: string;
}
/**
 * A whole message of the transcript, whoever wrote it. It is on disk when a front-end sees this.
 */
export interface MessageFinished {
  type: "message.finished";
  message: Message;
}
/**
 * What a person or a model said.
 */
export interface MessageItem {
  kind: "message";
  id: string;
  createdAt: string;
  parentId?: string;
  turnId?: string;
  message: Message;
}
/**
 * What is known of a model: `contextSize` in tokens, and whether it can.
 */
export interface Model {
  id: string;
  contextSize?: number;
  tools?: boolean;
  images?: boolean;
  thinking?: boolean;
}
/**
 * What one model of one provider has used.
 */
export interface ModelSpent {
  requests: number;
  tokens: Usage;
  costUsd?: number;
  savedUsd?: number;
  provider: string;
  model: string;
}
/**
 * `refresh` asks the providers for their models now; else what is known is told.
 */
export interface ModelsListParams {
  provider?: string;
  refresh?: boolean;
}
export interface ModelsListResult {
  providers: Provider[];
}
/**
 * `message` says how it stands, `advice` what makes it ready, `problem` why it could not be asked.
 */
export interface Provider {
  id: string;
  status: "ready" | "unavailable";
  models: Model[];
  message: string;
  advice?: string;
  problem?: string;
}
/**
 * Nothing is asked for in particular.
 */
export interface NoParams {}
/**
 * One line for the person: a fallback, a retry, a limit, something that was left out.
 */
export interface Notice {
  type: "notice";
  level: "error" | "note" | "warning";
  text: string;
}
/**
 * One action on a document, or without `range` on all of it; without `sessionId` in a session of its own.
 */
export interface OneShotParams {
  action: "ask" | "commitMessage" | "document" | "explain" | "fix" | "refactor" | "test";
  uri: string;
  version?: number;
  range?: Range;
  instruction?: string;
  sessionId?: string;
}
/**
 * The turn that does it.
 */
export interface OneShotResult {
  sessionId: string;
  turnId: string;
}
/**
 * What the model has written so far of the message that it is at.
 */
export interface PartialMessage {
  messageId: string;
  text: string;
  thought?: string;
}
/**
 * Changes to one or more files that are made, and can be undone, as one.
 */
export interface Patch {
  id: string;
  title: string;
  edits: Edit[];
  toolCallId?: string;
}
/**
 * The files are changed. `patch` is what was really done, in the files as they were then.
 */
export interface PatchApplied {
  type: "patch.applied";
  patch: Patch;
}
/**
 * The tool call waits for the person's word on each hunk; no file is changed yet.
 */
export interface PatchProposed {
  type: "patch.proposed";
  patch: Patch;
}
/**
 * Hunks that are in neither list stay open.
 */
export interface PatchResolveParams {
  patchId: string;
  accept?: string[] | "all";
  reject?: RejectedHunk[];
}
/**
 * The model gets the `reason`.
 */
export interface RejectedHunk {
  hunkId: string;
  reason?: string;
}
/**
 * `applied` are the ids of the hunks for which it is done as asked: kept, or taken back.
 */
export interface PatchResolveResult {
  applied: string[];
  failed: FailedHunk[];
}
/**
 * Some hunks of a patch, by their ids, are decided on. `by` says who: `person`, or what ended the review.
 */
export interface PatchResolved {
  type: "patch.resolved";
  patchId: string;
  kept: string[];
  rejected: Rejection[];
  by: string;
}
/**
 * A hunk that the person does not want; the model gets the `reason`.
 */
export interface Rejection {
  hunkId: string;
  reason?: string;
}
/**
 * A question to the person. `decidedBy` names the rule that asks; an answer covers exactly what is shown. `diff` is the unified diff of what would be changed (of git's branches and history, what would be done to them), None where the tool cannot tell before. Where it is cut, a last line says so. It `isWhole` when all that a yes covers can be shown. `options` are the answers that it takes; only a question with a `command` can be answered with another one, and only a whole one for the session.
 */
export interface Permission {
  id: string;
  kind: "command" | "edit" | "network" | "outsidePath" | "protectedPath" | "trust";
  title: string;
  reason: string;
  decidedBy: string;
  toolCallId?: string;
  command?: Command;
  diff?: string;
  options: ("allowEdited" | "allowOnce" | "allowSession" | "deny" | "denyAndStop")[];
  isWhole: boolean;
}
/**
 * `command` goes with `allowEdited` and nothing else: what runs instead, exactly as it is. `note` is for the model to read.
 */
export interface PermissionAnswerParams {
  permissionId: string;
  decision: "allowEdited" | "allowOnce" | "allowSession" | "deny" | "denyAndStop";
  command?: string;
  note?: string;
}
/**
 * False: the question was settled before, or is not known.
 */
export interface PermissionAnswerResult {
  accepted: boolean;
}
export interface PermissionRequested {
  type: "permission.requested";
  permission: Permission;
}
/**
 * `by` says who decided: `person`, or the rule or event that did.
 */
export interface PermissionResolved {
  type: "permission.resolved";
  permissionId: string;
  decision: "allowEdited" | "allowOnce" | "allowSession" | "deny" | "denyAndStop";
  by: string;
}
/**
 * A prompt that waits for its turn, in whichever process.
 */
export interface QueuedPrompt {
  turnId: string;
  message: Message;
}
/**
 * One model request begins; `round` counts from 1 within the turn.
 */
export interface RoundStarted {
  type: "round.started";
  round: number;
}
/**
 * A part of an open document.
 */
export interface SelectionContext {
  type: "selection";
  uri: string;
  version: number;
  range: Range;
}
/**
 * `protocolVersion` is the smaller of the two sides'. `features` are the methods that a client may call, without ``marvin/``.
 */
export interface ServerMarvin {
  protocolVersion: number;
  features: {
    [k: string]: {};
  };
  limits: Limits;
  version: string;
}
/**
 * `cwd` is an absolute path. Times are ISO 8601 in UTC; `parentId` is the session that it was forked from. `busy` says that something is at work in it, here or in another process; `activity` what, where it is here and no turn.
 */
export interface Session {
  id: string;
  title: string;
  cwd: string;
  mode: "auto" | "full" | "plan" | "review";
  model: string;
  createdAt: string;
  updatedAt: string;
  busy: boolean;
  parentId?: string;
  activity?: "summarising";
}
/**
 * The session is not what it was.
 */
export interface SessionChangedParams {
  session: Session;
}
/**
 * Have a summary stand for the older part of what was said. With `preview` nothing changes, and the same without it carries out what that has shown. `focus` is what the summary has to keep in view.
 */
export interface SessionCompactParams {
  sessionId: string;
  preview?: boolean;
  focus?: string;
}
/**
 * `topics` are the prompts that go out of view, a short line each; `diff` is unified: what goes, each message cut short, and the summary that comes in its place.
 */
export interface SessionCompactResult {
  compaction: Compacted;
  topics: string[];
  diff: string;
}
export interface SessionDeleteParams {
  sessionId: string;
}
/**
 * Another process has deleted a session that this client has begun or loaded.
 */
export interface SessionDeletedParams {
  sessionId: string;
}
/**
 * A session that goes on from `atItemId`, or from the end.
 */
export interface SessionForkParams {
  sessionId: string;
  atItemId?: string;
}
/**
 * Only sessions of `cwd`, and only those that hold the words of `query`; `cursor` is the last page's `nextCursor`.
 */
export interface SessionListParams {
  cwd?: string;
  query?: string;
  cursor?: string;
  limit?: number;
}
/**
 * The latest first; `nextCursor` is there when there are more.
 */
export interface SessionListResult {
  sessions: Session[];
  nextCursor?: string;
}
/**
 * `limit` counts messages; `before` is the `cursor` of the page that was loaded last.
 */
export interface SessionLoadParams {
  sessionId: string;
  limit?: number;
  before?: string;
}
/**
 * One moment of a session: everything up to `seq` is in it, nothing later is. `items` is a page, oldest first; `cursor` is there when there are older ones. `turnId` is the running turn. `openPermissions` are those of another process where that one is at work.
 */
export interface SessionLoadResult {
  session: Session;
  items: (MessageItem | ToolCallItem | CompactionItem)[];
  seq: number;
  openPermissions: Permission[];
  pendingPatches: Patch[];
  queued: QueuedPrompt[];
  drafts: Draft[];
  cursor?: string;
  turnId?: string;
  partial?: PartialMessage;
}
/**
 * A tool call of the message before it. `input` is what the model gave: an object, or the text where that was no JSON; `output` is what the model read, None while there is nothing.
 */
export interface ToolCallItem {
  kind: "toolCall";
  id: string;
  createdAt: string;
  parentId?: string;
  turnId?: string;
  name: string;
  input: unknown;
  status: "cancelled" | "denied" | "error" | "ok" | "running";
  output?: string;
}
/**
 * `cwd` is an absolute path; an `ephemeral` session is in no list, and goes with the connection.
 */
export interface SessionNewParams {
  cwd: string;
  title?: string;
  mode?: "auto" | "full" | "plan" | "review";
  model?: string;
  ephemeral?: boolean;
}
/**
 * The session as it is now.
 */
export interface SessionResult {
  session: Session;
}
/**
 * Another title; `archived` sessions are listed only when words are looked for.
 */
export interface SessionUpdateParams {
  sessionId: string;
  title?: string;
  archived?: boolean;
}
/**
 * What model requests have used. `costUsd` is None while a price is unknown, and `savedUsd`, what cached tokens saved, where nothing was.
 */
export interface Spent {
  requests: number;
  tokens: Usage;
  costUsd?: number;
  savedUsd?: number;
}
/**
 * One line for the status bar, which says what to do where something has to be done.
 */
export interface StatusChangedParams {
  busy: boolean;
  kind: "busy" | "ready" | "warning";
  message: string;
}
/**
 * Who would answer in a new session, and whether anything is at work. `message`: what to do about `auth`.
 */
export interface StatusResult {
  provider: string;
  model: string;
  auth: "failed" | "ok" | "required";
  busy: boolean;
  version: string;
  message?: string;
}
/**
 * With `dryRun` nothing is changed and only the preview is made.
 */
export interface TakeBackParams {
  sessionId: string;
  turnId: string;
  dryRun?: boolean;
}
/**
 * `applied` are the paths of the files that were changed, `preview` is the change as a unified diff, and `notes` are lines for the person.
 */
export interface TakeBackResult {
  applied: string[];
  failed: FailedFile[];
  preview: string;
  notes: string[];
}
/**
 * Any text, such as a terminal's; `title` says where it is from.
 */
export interface TextContext {
  type: "text";
  text: string;
  title?: string;
}
/**
 * What the person wrote.
 */
export interface TextInput {
  type: "text";
  text: string;
}
export interface ThoughtDelta {
  type: "thought.delta";
  messageId: string;
  text: string;
}
export interface ThoughtFinished {
  type: "thought.finished";
  messageId: string;
  text: string;
}
/**
 * `output` is what the model reads; `details` is for the screen alone. `durationMs` leaves out how long somebody was asked.
 */
export interface ToolFinished {
  type: "tool.finished";
  toolCallId: string;
  name: string;
  status: "cancelled" | "denied" | "error" | "ok";
  durationMs: number;
  output: string;
  exitCode?: number;
  details: {};
}
/**
 * Text that a running tool has just printed.
 */
export interface ToolOutput {
  type: "tool.output";
  toolCallId: string;
  text: string;
}
/**
 * A tool call begins. `locations` are paths, relative to the workspace root, that it is about.
 */
export interface ToolStarted {
  type: "tool.started";
  toolCallId: string;
  name: string;
  title: string;
  kind: "edit" | "execute" | "message" | "network" | "read";
  input: {};
  locations: string[];
}
/**
 * Without `turnId`, the turn that runs; one that is queued can be named.
 */
export interface TurnCancelParams {
  sessionId: string;
  turnId?: string;
}
/**
 * Events of one turn, in order; `seq` counts these notifications of a session by one, from 1.
 */
export interface TurnEventsParams {
  sessionId: string;
  turnId: string;
  seq: number;
  events: (
    | TurnStarted
    | RoundStarted
    | MessageDelta
    | MessageFinished
    | ThoughtDelta
    | ThoughtFinished
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | PermissionRequested
    | PermissionResolved
    | PatchProposed
    | PatchApplied
    | PatchResolved
    | UsageChanged
    | Notice
    | Compacted
    | TurnFinished
  )[];
}
export interface TurnStarted {
  type: "turn.started";
  turnId: string;
  sessionId: string;
  provider: string;
  model: string;
}
/**
 * Tokens and money of the turn so far; `costUsd` is None while a price is unknown. `savedUsd` is what cached tokens saved, against the price of the same tokens uncached: below 0 where writing them cost more than reading them saved, None where nothing was cached or its price is unknown.
 */
export interface UsageChanged {
  type: "usage";
  usage: Usage;
  costUsd?: number;
  savedUsd?: number;
}
/**
 * Always the last event of a turn, exactly once.
 */
export interface TurnFinished {
  type: "turn.finished";
  turnId: string;
  stopReason: "budget" | "cancelled" | "completed" | "denied" | "failed" | "roundLimit";
  usage: Usage;
  error?: Failure;
}
/**
 * A prompt. The same `clientTurnId` starts one turn only, however often it is sent, and to whichever server.
 */
export interface TurnStartParams {
  sessionId: string;
  input: (TextInput | ImageInput)[];
  clientTurnId?: string;
  context?: (
    FileContext | BufferContext | SelectionContext | DiagnosticsContext | TextContext | GitDiffContext | ImageContext
  )[];
  whenBusy?: "queue" | "reject" | "steer";
}
/**
 * `turnId` is the running turn's where the prompt was `steered` into it. It is `finished` where an earlier run of the server has got the same `clientTurnId`: nothing is started.
 */
export interface TurnStartResult {
  turnId: string;
  state: "finished" | "queued" | "running" | "steered";
}
export interface UsageGetParams {
  sessionId: string;
}
/**
 * All that a session has used, by model too. `contextUsed` and `contextSize` are tokens: what the next request will hold at least, and what the model can read; `costUsd` is None while a price is unknown. `lifetime` is what all sessions of the profile have used, those that were deleted too.
 */
export interface UsageGetResult {
  tokens: Usage;
  contextUsed: number;
  contextSize?: number;
  costUsd?: number;
  requests?: number;
  savedUsd?: number;
  models?: ModelSpent[];
  lifetime?: Spent;
  caps?: Cap[];
}

/** What the client asks the server. */
export interface ToServer {
  "marvin/session/new": { params: SessionNewParams; result: SessionResult };
  "marvin/session/list": { params: SessionListParams; result: SessionListResult };
  "marvin/session/load": { params: SessionLoadParams; result: SessionLoadResult };
  "marvin/session/fork": { params: SessionForkParams; result: SessionResult };
  "marvin/session/update": { params: SessionUpdateParams; result: SessionResult };
  "marvin/session/delete": { params: SessionDeleteParams; result: Done };
  "marvin/session/compact": { params: SessionCompactParams; result: SessionCompactResult };
  "marvin/turn/start": { params: TurnStartParams; result: TurnStartResult };
  "marvin/turn/cancel": { params: TurnCancelParams; result: Done };
  "marvin/turn/undo": { params: TakeBackParams; result: TakeBackResult };
  "marvin/turn/redo": { params: TakeBackParams; result: TakeBackResult };
  "marvin/permission/answer": { params: PermissionAnswerParams; result: PermissionAnswerResult };
  "marvin/patch/resolve": { params: PatchResolveParams; result: PatchResolveResult };
  "marvin/config/get": { params: ConfigGetParams; result: ConfigResult };
  "marvin/config/set": { params: ConfigSetParams; result: ConfigResult };
  "marvin/context/get": { params: ContextGetParams; result: ContextResult };
  "marvin/context/set": { params: ContextSetParams; result: ContextResult };
  "marvin/models/list": { params: ModelsListParams; result: ModelsListResult };
  "marvin/command/list": { params: CommandListParams; result: CommandListResult };
  "marvin/complete": { params: CompleteParams; result: CompleteResult };
  "marvin/usage/get": { params: UsageGetParams; result: UsageGetResult };
  "marvin/status": { params: NoParams; result: StatusResult };
  "marvin/job/list": { params: NoParams; result: JobsResult };
  "marvin/job/cancel": { params: JobCancelParams; result: JobsResult };
  "marvin/oneShot": { params: OneShotParams; result: OneShotResult };
}

/** What the server asks the client. */
export interface ToClient {
  "marvin/document/save": { params: DocumentSaveParams; result: DocumentSaveResult };
}

/** What the server tells the client. */
export interface Notifications {
  "marvin/session/changed": SessionChangedParams;
  "marvin/session/deleted": SessionDeletedParams;
  "marvin/turn/events": TurnEventsParams;
  "marvin/status/changed": StatusChangedParams;
  "marvin/job/changed": JobChangedParams;
}

export type Event = TurnEventsParams["events"][number];
export type Item = SessionLoadResult["items"][number];
