import type { IncomingMessage } from "node:http";
import type { KubeConfig } from "@kubernetes/client-node";
import { assemble, type Assembly, type Pages } from "../../src/assemble";
import type { Scrape } from "../../src/cluster/measure/pod-metrics";
import type { Log } from "../../src/core/ports";
import type { Clock } from "../../src/core/time";
import { readSettings } from "../../src/settings";
import type { SentRequest } from "./server/api-servers";
import { type Dice, ProcessClock } from "./time";

/** Namespace of the operator's pods and of its Lease, as in deploy/install.yaml. */
export const OPERATOR_NAMESPACE = "controller-resilience-system";

/** A line of an operator's log. */
export interface LogLine {
  readonly atMs: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: object;
}

/** What one process of the operator gets from the world. */
export interface ProcessContext {
  /** Name of its pod. */
  readonly name: string;
  readonly clock: Clock;
  readonly dice: Dice;
  /** How far its machine's wall clock is off, in milliseconds. */
  readonly offsetMs?: number;
  /** The token in its volume at this moment. */
  readonly token: () => string;
  /** Sends a request to the API servers. */
  readonly send: (request: SentRequest, signal: AbortSignal) => Promise<IncomingMessage>;
  /** Asks a pod for its metrics. */
  readonly scrape: Scrape;
  readonly env?: Readonly<Record<string, string>>;
  /** Called once, when the process has ended by itself. */
  readonly onExit: (code: number) => void;
  readonly onLog?: (line: LogLine) => void;
}

/** One process of the real operator in the simulated world. */
export class OperatorProcess {
  readonly clock: ProcessClock;
  readonly #assembly: Assembly;
  /** Answers whose bodies may still be read. */
  readonly #open = new Set<IncomingMessage>();
  #pages: Pages | undefined;
  #hasEnded = false;

  constructor(private readonly context: ProcessContext) {
    this.clock = new ProcessClock(context.clock, context);
    const dice = context.dice.fork(context.name);
    const random = dice.next.bind(dice);
    const settings = readSettings(
      { RESILIENCE_NAMESPACE: OPERATOR_NAMESPACE, KUBERNETES_SERVICE_HOST: "10.96.0.1", ...context.env },
      { hostname: context.name, random },
    );
    this.#assembly = assemble(settings, {
      ...{ clock: this.clock, random, hasProcessMetrics: false },
      log: this.#log({}),
      loadKubeConfig: () => kubeConfigOf(context.token),
      send: (access, wire, signal) => this.#send({ ...wire, headers: { ...wire.headers, ...access.headers } }, signal),
      scrape: (request, signal) => this.#answered(() => context.scrape(request, signal)),
      serve: pages => {
        this.#pages = pages;
        return { start: () => undefined, stop: () => Promise.resolve() };
      },
      exit: code => this.#exit(code),
    });
  }

  start(): void {
    this.#assembly.start();
  }

  get isRunning(): boolean {
    return !this.#hasEnded;
  }

  /** The failing checks of /healthz or /readyz. A frozen process does not answer. */
  troubles(page: "health" | "readiness"): string[] {
    if (this.clock.isFrozen) return ["no answer"];
    return (this.#pages?.[page] ?? []).flatMap(({ trouble }) => trouble() ?? []);
  }

  /** The metrics as text. */
  async metrics(): Promise<string> {
    return (await this.#pages?.metrics()) ?? "";
  }

  /** SIGTERM. */
  terminate(): void {
    if (this.isRunning) void this.#assembly.stop("SIGTERM");
  }

  /** SIGKILL, or the end of its node: nothing of it ever runs again. Requests that it has sent may still be served. */
  kill(): void {
    this.#hasEnded = true;
    this.clock.kill();
    for (const answer of this.#open) answer.destroy();
    this.#open.clear();
  }

  #exit(code: number): void {
    if (this.#hasEnded) return;
    this.kill();
    this.context.onExit(code);
  }

  #send(request: Omit<SentRequest, "from">, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#answered(() => this.context.send({ ...request, from: this.context.name }, signal));
  }

  #answered(send: () => Promise<IncomingMessage>): Promise<IncomingMessage> {
    // Of a dead process no promise settles any more.
    if (this.clock.isDead) return new Promise(() => undefined);
    return new Promise((resolve, reject) => {
      send().then(
        answer => {
          if (this.clock.isDead) return void answer.destroy();
          this.#open.add(answer);
          answer.once("close", () => this.#open.delete(answer));
          this.clock.whenAwake(() => resolve(answer));
        },
        (error: unknown) => {
          if (!this.clock.isDead) this.clock.whenAwake(() => reject(error as Error));
        },
      );
    });
  }

  #log(bound: object): Log {
    const at = (level: LogLine["level"]) => (fields: object, message: string) => {
      if (level === "debug" || this.clock.isDead) return;
      const atMs = this.clock.now().getTime();
      this.context.onLog?.({ atMs, level, message, fields: { ...bound, ...fields } });
    };
    return {
      ...{ debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
      child: fields => this.#log({ ...bound, ...fields }),
    };
  }
}

/** What client-node reads from a pod's ServiceAccount volume, without its files. */
function kubeConfigOf(token: () => string): KubeConfig {
  const config = {
    getCurrentCluster: () => ({ name: "simulated", server: "https://10.96.0.1:443" }),
    getCurrentUser: () => ({ name: "operator" }),
    getContextObject: () => null,
    currentContext: "inClusterContext",
    applyToHTTPSOptions: (options: { headers?: Record<string, string>; agent?: unknown }) => {
      options.headers = { ...options.headers, Authorization: `Bearer ${token()}` };
      options.agent = { freeSockets: {}, destroy: () => undefined };
      return Promise.resolve();
    },
  };
  return config as unknown as KubeConfig;
}
