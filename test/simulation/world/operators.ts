import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../src/core/time";
import { type LogLine, OPERATOR_NAMESPACE, OperatorProcess, type ProcessContext } from "../operator";
import type { Access } from "../server/access";
import type { SentRequest } from "../server/api-servers";
import type { Store } from "../server/store";
import type { Dice } from "../time";

// The pods of the operator's Deployment, with what its kubelets do for them: they mount a token, probe the process, and start it again.

/** expirationSeconds of the operator's tokens (deploy/install.yaml), of which it finds the newest. The kubelet renews each after 80 % of its life. */
const TOKEN_SECONDS = [600, 641, 682, 723, 764, 805, 846, 887];

/** The kubelet tries again after this, if no token is issued. */
const RETRY_MS = 30_000;

/** The liveness probe of deploy/install.yaml: period and failures. */
const PROBE_MS = 10_000;
const PROBE_FAILURES = 3;

/** A container that ended is started again after this, then twice that, up to five minutes; in milliseconds. */
const FIRST_BACKOFF_MS = 2_000;
const LAST_BACKOFF_MS = 300_000;

/** What the operator's pods need of the world. */
export interface OperatorParts {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly store: Store;
  readonly access: Access;
  readonly send: (request: SentRequest, signal: AbortSignal) => Promise<IncomingMessage>;
  readonly scrape: ProcessContext["scrape"];
  readonly onLog: (pod: string, line: LogLine) => void;
}

/** One pod of the operator. */
export class OperatorPod {
  readonly name: string;
  #process: OperatorProcess | undefined;
  #token = "";
  #failures = 0;
  #starts = 0;
  #isPaused = false;
  /** How far the wall clock of its machine is off. */
  #offsetMs: number;

  constructor(
    private readonly parts: OperatorParts,
    number: number,
    offsetMs: number,
  ) {
    this.#offsetMs = offsetMs;
    this.name = `controller-resilience-${number}`;
    const { store } = parts;
    store.create("pods", {
      metadata: { namespace: OPERATOR_NAMESPACE, name: this.name, labels: { "app.kubernetes.io/name": "operator" } },
      spec: { serviceAccountName: "controller-resilience", containers: [{ name: "operator", image: "operator:1" }] },
      status: { phase: "Running" },
    });
    for (const lifeSeconds of TOKEN_SECONDS) this.#mount(lifeSeconds);
    this.#start();
    parts.clock.after(PROBE_MS, () => this.#probe());
  }

  get process(): OperatorProcess | undefined {
    return this.#process;
  }

  /** SIGKILL, such as by the kernel when memory is short. */
  kill(): void {
    this.#process?.kill();
    this.#restartLater(FIRST_BACKOFF_MS);
  }

  /** Its whole machine stands still, kubelet and all; returns what lets it go on. */
  pause(): () => void {
    const process = this.#process;
    process?.clock.freeze();
    this.#isPaused = true;
    return () => {
      this.#isPaused = false;
      process?.clock.thaw();
    };
  }

  /** The wall clock of its machine changes, as by NTP; the process that comes next sees it as well. */
  jumpClock(ms: number): void {
    this.#offsetMs += ms;
    this.#process?.clock.jumpWall(ms);
  }

  #start(): void {
    const { clock, dice, send, scrape, onLog } = this.parts;
    const { name } = this;
    this.#starts++;
    this.#process = new OperatorProcess({
      ...{ name, clock, offsetMs: this.#offsetMs },
      dice: dice.fork(`${name} ${this.#starts}`),
      token: () => this.#token,
      ...{ send, scrape },
      onExit: () => this.#restartLater(Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(this.#starts, 8))),
      onLog: line => onLog(name, line),
    });
    this.#process.start();
  }

  /** A process that waits for its start cannot end. */
  #restartLater(delayMs: number): void {
    if (this.#process === undefined) return;
    this.#process = undefined;
    this.parts.clock.after(delayMs, () => this.#start());
  }

  #probe(): void {
    const troubles = this.#isPaused ? [] : (this.#process?.troubles("health") ?? []);
    this.#failures = troubles.length > 0 ? this.#failures + 1 : 0;
    if (this.#failures >= PROBE_FAILURES) {
      this.#failures = 0;
      this.kill();
    }
    this.parts.clock.after(PROBE_MS, () => this.#probe());
  }

  #mount(lifeSeconds: number): void {
    const { access, clock, store } = this.parts;
    const pod = store.get("pods", OPERATOR_NAMESPACE, this.name);
    let againMs = RETRY_MS;
    try {
      this.#token = access.issueToken({
        ...{ namespace: OPERATOR_NAMESPACE, serviceAccount: "controller-resilience", lifeSeconds },
        ...(pod === undefined ? {} : { podName: this.name, podUid: pod.metadata.uid }),
      });
      againMs = 0.8 * lifeSeconds * 1_000;
    } catch {
      // The kubelet keeps the old token, and tries again.
    }
    clock.after(againMs, () => this.#mount(lifeSeconds));
  }
}
