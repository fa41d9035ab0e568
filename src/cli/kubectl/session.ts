import cfg from "../../../package.json";
import { GROUP, VERSION } from "../../api/names";
import { Api, type ApiRequest } from "../../cluster/http/api";
import { ClockOffset } from "../../cluster/http/answers";
import { Connection, locateCluster } from "../../cluster/http/connection";
import { listPages, type ListRequest } from "../../cluster/http/resources";
import { ExpiredError } from "../../cluster/http/status-errors";
import { systemClock, systemRandom } from "../../cluster/system";
import { type Clock, formatDuration, parseDuration, pause } from "../../core/time";
import { WaitError } from "../../core/errors";
import { arrayOf, type JsonObject, objectOf, textOf } from "../../core/json";
import { shellWord } from "../../core/text";
import { CliError, terminalText } from "../streams";
import { type ClusterFlags, loadChosen } from "./kubeconfig";
import { type Format, type Io, Output } from "./terminal";

/** Flags of every command that talks to a cluster. */
export interface SessionFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly requestTimeout?: string;
  readonly output?: Format;
}

/** Fewer than kubectl's 50 queries per second: an audit must not be the flood that it looks for. */
const CONCURRENT = 4;
const PAGE = 500;
const PAGE_BYTES = 64 * 1024 * 1024;
const DEFAULT_TIMEOUT = "30s";

/** An API server that asks to wait for longer than this, or more often, has worse problems. */
const LONGEST_WAIT_MS = 10_000;
const MOST_WAITS = 5;
const PATIENCE = { clock: systemClock, random: systemRandom, longestMs: LONGEST_WAIT_MS };

/** The connection of one command to its cluster. */
export class Session {
  /** It refuses every write. */
  readonly api: Api;
  /** This machine's clock, or the API server's if they differ: times of the cluster are compared with it. */
  readonly clock: Clock;
  readonly server: string;
  /** Name of the kubeconfig's context; absent in a pod. */
  readonly context: string | undefined;
  /** Namespace of `-n`, else that of the context. */
  readonly namespace: string;
  /** `-n` was given. */
  readonly isNamespaceChosen: boolean;
  readonly output: Output;
  readonly io: Io;
  readonly #connection: Connection;
  readonly #flags: SessionFlags;
  /** By how much the API server's clock is ahead, at least, in milliseconds. */
  #aheadMs = 0;
  readonly #ending = new AbortController();

  /** @throws TerminalError if the kubeconfig or a flag is not usable */
  constructor(flags: SessionFlags, io: Io) {
    const { config, impersonation, context } = loadChosen(flags, io);
    this.server = locateCluster(() => config).server;
    this.context = context;
    this.isNamespaceChosen = flags.namespace !== undefined;
    this.namespace =
      flags.namespace ?? (config.getContextObject(config.currentContext)?.namespace?.trim() || "default");
    // Someone may choose another context before the kubeconfig is read again.
    const same = { ...flags, ...(context !== undefined && { context }) };
    this.#connection = new Connection(() => loadChosen(same, io).config, systemClock, { impersonation });
    const offset = new ClockOffset(
      systemClock,
      { warn: () => undefined },
      seconds => (this.#aheadMs = seconds * 1_000),
    );
    this.api = new Api(this.#connection, systemClock, {
      userAgent: `kubectl-resilience/${cfg.version}`,
      maxConcurrent: CONCURRENT,
      deadlineMs: timeoutMs(flags.requestTimeout),
      onAnswer: ({ date }, sentAtMs) => offset.answered(date, sentAtMs),
      isReadOnly: true,
    });
    this.#flags = flags;
    this.clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + this.#aheadMs) };
    this.output = new Output(io, flags.output);
    this.io = io;
  }

  /** Reads one object or answer; null for a 404. */
  get(request: ApiRequest): Promise<JsonObject | null> {
    return this.#patiently(() => this.api.jsonOrNull<JsonObject>(request));
  }

  /** Reads a body that is no JSON. @throws an error of core unless the answer is 2xx */
  bytes(request: ApiRequest): Promise<Buffer> {
    return this.#patiently(() => this.api.bytes(request));
  }

  /** Lists a whole collection, page by page, and gives each object to `view` at once, so that 10,000 pods need no memory for their JSON. */
  list<T>(request: Omit<ListRequest, "limit">, view: (item: JsonObject) => T): Promise<T[]> {
    return this.#patiently(async () => {
      const found: T[] = [];
      for await (const { items } of listPages(
        this.api,
        { ...request, limit: PAGE, maxBytes: PAGE_BYTES },
        { patience: PATIENCE },
      )) {
        for (const item of items) found.push(view(objectOf(item)));
      }
      return found;
    });
  }

  /**
   * Returns a command line for this cluster: copied without its flags it could change another one. A page is sent to others, who have other files and
   * current contexts; a pod has none to name, so its reader has to.
   */
  command(line: string): string {
    const { context, kubeconfig, output } = this.#flags;
    const flags = output === "html" ? { context: this.context ?? "CONTEXT" } : { context, kubeconfig };
    const given = Object.entries(flags).flatMap(([flag, value]) => (value ? [`--${flag} ${shellWord(value)}`] : []));
    return [line, ...given].join(" ");
  }

  /** Says on a terminal what takes long. */
  say(what: string): void {
    if (this.io.stderr.isTTY === true) this.io.stderr.write(`${terminalText(what)} ...\n`);
  }

  /** Says what is watched, and waits. */
  wait(what: string, ms: number): Promise<void> {
    this.say(`watches for ${formatDuration(ms)}: ${what}`);
    return pause(systemClock, ms, this.ending);
  }

  /** The versions of the operator's API that the cluster serves; none if the operator's definitions are not installed. */
  async servedVersions(): Promise<string[]> {
    const group = await this.get({ what: `get apis/${GROUP}`, path: `/apis/${GROUP}` });
    return arrayOf(group?.["versions"]).map(version => textOf(objectOf(version)["version"]) ?? "");
  }

  /** @throws CliError unless the cluster serves the version of the operator's API that this program knows */
  async requireCrd(): Promise<void> {
    const versions = await this.servedVersions();
    if (versions.includes(VERSION)) return;
    throw new CliError(
      versions.length === 0
        ? `the cluster does not serve ${GROUP}: the operator is not installed (docs/install.md)`
        : `the cluster serves ${GROUP}/${versions.join(", ")}, expected ${VERSION}: use the kubectl-resilience of the operator's release`,
    );
  }

  /** Fires when the session is closed. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  close(): void {
    this.#ending.abort();
    this.#connection.close();
  }

  /** Repeats a read that the API server has asked to repeat. As in kubectl, a credential plugin has time to ask a person to log in. */
  async #patiently<T>(read: () => Promise<T>): Promise<T> {
    await this.#connection.access();
    for (let waits = 0; ; waits++) {
      try {
        return await read();
      } catch (error) {
        const waitMs = error instanceof WaitError ? error.afterMs : error instanceof ExpiredError ? 0 : Infinity;
        if (waitMs > LONGEST_WAIT_MS || waits >= MOST_WAITS) throw error;
        await pause(systemClock, waitMs, this.ending);
      }
    }
  }
}

function timeoutMs(flag: string | undefined): number {
  const text = flag || DEFAULT_TIMEOUT;
  // As in kubectl, 0 means no timeout, and a number without a unit means seconds.
  if (text === "0" || text === "0s") return 2 ** 31 - 1;
  try {
    return parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  } catch {
    throw new CliError(`--request-timeout: expected a duration such as 30s, got "${text}"`);
  }
}
