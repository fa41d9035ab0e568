import { ConditionType, Reason } from "../api/conditions";
import type { ControllerResilience, ControllerResilienceStatus, RestartStatus } from "../api/controller-resilience";
import type { Random } from "../core/clock";
import { nextConditions } from "../core/conditions";
import { ConflictError, framesOf, GoneError, publicMessage } from "../core/errors";
import type { EngineMetrics, EventSink, Key, Log, ObjectStore, Writer } from "../core/ports";
import type { Readers } from "../core/readers";
import type { Decision, Remedy, RemedyKey, RemedyStatus } from "../core/remedy";
import { concludeGenerally, type Execution } from "./conclude";
import { checkedDecision } from "./decision";
import { withDeadline } from "./deadline";
import { Executor } from "./executor";
import { decideFailed, judge, retryAfter, type Judgement } from "./judge";
import { conditionUpdates, SUSPENDED } from "./ready";
import { Reporter } from "./reporter";
import { RestartLedger, STORE_DEADLINE_MS } from "./restart-ledger";
import { boundStatus, countConfirmed, isSameStatus } from "./status";
import type { StormBrake } from "./storm-brake";
import { WorkloadRestarts } from "./workload-restarts";

/** What to do with a key after its pass. */
export type PassResult =
  /** The object is gone. */
  | { readonly next: "forget" }
  /** All is said: again after that time, or when something changes, or with the timed pass. */
  | { readonly next: "recheck"; readonly afterMs?: number }
  /** The API server asked for patience. */
  | { readonly next: "wait"; readonly afterMs: number }
  /** Something failed that may succeed next time: again with backoff. */
  | { readonly next: "retry"; readonly conflict: boolean }
  /** Trying again changes nothing: when something changes, or with the timed pass. */
  | { readonly next: "give-up" };

/** What a pass works with. */
export interface ReconcilerPorts {
  readonly store: ObjectStore;
  readonly writer: Writer;
  readonly events: EventSink;
  readonly readers: Readers;
  readonly remedies: readonly Remedy[];
  readonly brake: StormBrake;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

/** One pass over one remedy. */
interface Part extends Judgement {
  readonly condition: ConditionType;
  readonly remedy?: Remedy;
}

/** Each remedy's condition and the lists of status that are its own. Restarts belong to nobody: budgets outlive the remedy's block. */
const BLOCKS: Record<
  RemedyKey,
  { readonly condition: ConditionType; readonly owns: Exclude<keyof RemedyStatus, "restarts"> }
> = {
  tokenRestart: { condition: ConditionType.TokensAccepted, owns: "targets" },
  bindingRenewal: { condition: ConditionType.BindingsCurrent, owns: "bindings" },
  tokenLifetime: { condition: ConditionType.TokenLifetimeBounded, owns: "daemonSets" },
  flowIsolation: { condition: ConditionType.FlowsIsolated, owns: "flows" },
};
const REMEDY_KEYS = Object.keys(BLOCKS) as RemedyKey[];

/** Runs passes: read the object, let each remedy observe and decide, carry out, report. */
export class Reconciler {
  readonly #ports: ReconcilerPorts;
  readonly #executor: Executor;
  readonly #reporter: Reporter;
  readonly #restarts: WorkloadRestarts;

  constructor(ports: ReconcilerPorts) {
    this.#ports = ports;
    this.#executor = new Executor({ ...ports, clock: ports.readers.clock });
    this.#restarts = new WorkloadRestarts(ports.readers.clock);
    this.#reporter = new Reporter(ports.events, ports.metrics, ports.readers.clock);
  }

  /**
   * One pass for one key. `mayWrite` says whether this process still leads, without a break since the pass began; nothing is
   * written when it does not. What goes wrong is in the result; only a bug of the engine itself is thrown.
   */
  async reconcile(key: Key, mayWrite: () => boolean): Promise<PassResult> {
    const log = this.#ports.log.child({ key, pass: this.#newPassId() });
    try {
      const object = await this.#store("reading the object", store => store.get(key));
      if (object === null || object.metadata.deletionTimestamp !== undefined) return this.#forget(key, log);
      return await this.#reconcileObject(key, object, { log, mayWrite });
    } catch (error) {
      log.warn({ error: publicMessage(error), stack: framesOf(error) }, "the pass ended early");
      return nextOf(error);
    }
  }

  async #reconcileObject(key: Key, object: ControllerResilience, pass: Pass): Promise<PassResult> {
    const parts = await this.#judgeAll(object, pass.log);
    if (!pass.mayWrite()) return { next: "recheck" };
    this.#seedBrake(object.status?.restarts ?? []);
    const own = mergeStatus(parts);
    const history = own.restarts ?? object.status?.restarts ?? [];
    const ledger = new RestartLedger(object, history, {
      store: this.#ports.store,
      clock: this.#ports.readers.clock,
      restarts: this.#restarts,
    });
    const carriedOut = await this.#carryOut(key, parts, { ...pass, object, ledger });
    const status = this.#statusOf(object, carriedOut.parts, ledger);
    if (!pass.mayWrite()) return { next: "recheck" };
    if (!isSameStatus(ledger.object.status, status)) {
      await this.#store("writing status", store => store.writeStatus(ledger.object, status));
    }
    this.#reporter.conditions(key, object, status.conditions ?? []);
    this.#reporter.bindings(key, status.bindings);
    const announcements = carriedOut.parts.flatMap(({ decision }) => decision.announcements ?? []);
    this.#reporter.announcements(key, object, announcements);
    return nextAfter(carriedOut.parts, carriedOut.executions);
  }

  #judgeAll(object: ControllerResilience, log: Log): Promise<Part[]> {
    const blocks = REMEDY_KEYS.filter(key => object.spec[key] !== undefined);
    return Promise.all(
      blocks.map(async (key): Promise<Part> => {
        const { condition } = BLOCKS[key];
        if (object.spec.suspend) return { condition, decision: unknown(Reason.Suspended, SUSPENDED) };
        const remedy = this.#ports.remedies.find(candidate => candidate.key === key);
        if (remedy) return { condition, remedy, ...(await judge(remedy, object, this.#ports.readers, log)) };
        const message = `spec.${key} is set, but this version of the operator does not have that remedy yet: nothing is done for it.`;
        return { condition, decision: unknown(Reason.NotImplemented, message) };
      }),
    );
  }

  async #carryOut(key: Key, parts: readonly Part[], scope: Scope): Promise<{ parts: Part[]; executions: Execution[] }> {
    const concluded: Part[] = [];
    const all: Execution[] = [];
    for (const part of parts) {
      const executions = await this.#execute(part, scope);
      concluded.push(this.#conclude(part, executions, scope.log));
      all.push(...executions);
    }
    this.#reporter.executions(key, scope.object, all);
    return { parts: concluded, executions: all };
  }

  async #execute({ remedy, decision }: Part, scope: Scope): Promise<Execution[]> {
    const executions: Execution[] = [];
    if (remedy === undefined) return executions;
    // One after the other: each counts against the budget of the next.
    for (const intent of decision.intents) {
      executions.push({ intent, outcome: await this.#executor.execute(remedy, intent, scope) });
    }
    return executions;
  }

  #conclude(part: Part, executions: readonly Execution[], log: Log): Part {
    const { remedy, decision } = part;
    if (remedy === undefined || executions.length === 0) return part;
    if (remedy.conclude === undefined) return { ...part, decision: concludeGenerally(decision, executions) };
    try {
      const concluded = remedy.conclude(decision, executions, this.#ports.readers.clock.now());
      // What it wants has been done: it may change words and times, not plans.
      return { ...part, decision: checkedDecision({ ...concluded, intents: [] }) };
    } catch (error) {
      return { ...part, ...decideFailed(remedy, error, log) };
    }
  }

  #statusOf(object: ControllerResilience, parts: readonly Part[], ledger: RestartLedger): ControllerResilienceStatus {
    const now = this.#ports.readers.clock.now();
    const before = object.status ?? {};
    const generation = object.metadata.generation;
    const updates = conditionUpdates(parts, object.spec.suspend);
    const bounded = boundStatus({ restarts: [...ledger.history] }, now).restarts ?? [];
    const restartsTotal = (before.restartsTotal ?? 0) + countConfirmed(before.restarts ?? [], ledger.history);
    const status: ControllerResilienceStatus = {
      ...withoutForeignLists(before, object),
      ...mergeStatus(parts),
      observedGeneration: generation,
      ...(bounded.length > 0 || before.restarts ? { restarts: bounded } : {}),
      restartsTotal,
      conditions: nextConditions(before.conditions ?? [], updates, generation, now),
    };
    return boundStatus(status, now);
  }

  #seedBrake(restarts: readonly RestartStatus[]): void {
    for (const { time } of restarts) this.#ports.brake.seed(new Date(time));
  }

  #forget(key: Key, log: Log): PassResult {
    for (const remedy of this.#ports.remedies) {
      try {
        remedy.forget?.(key);
      } catch (error) {
        log.error({ remedy: remedy.name, error: publicMessage(error) }, "forgetting failed: a bug");
      }
    }
    this.#reporter.forget(key);
    return { next: "forget" };
  }

  #store<T>(what: string, work: (store: ObjectStore) => Promise<T>): Promise<T> {
    return withDeadline(this.#ports.readers.clock, STORE_DEADLINE_MS, what, () => work(this.#ports.store));
  }

  #newPassId(): string {
    return Math.floor(this.#ports.random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0");
  }
}

interface Pass {
  readonly log: Log;
  readonly mayWrite: () => boolean;
}

interface Scope extends Pass {
  readonly object: ControllerResilience;
  readonly ledger: RestartLedger;
}

function unknown(reason: Reason, message: string): Decision {
  return { status: "Unknown", reason, message, intents: [] };
}

function mergeStatus(parts: readonly Part[]): RemedyStatus {
  return Object.assign({}, ...parts.map(({ decision }) => decision.parts)) as RemedyStatus;
}

/** Lists of remedies that are off go. */
function withoutForeignLists(
  before: ControllerResilienceStatus,
  object: ControllerResilience,
): ControllerResilienceStatus {
  const kept = { ...before };
  for (const key of REMEDY_KEYS) {
    const { owns } = BLOCKS[key];
    if (object.spec[key] === undefined) Reflect.deleteProperty(kept, owns);
  }
  return kept;
}

function nextOf(error: unknown): PassResult {
  const retry = retryAfter(error);
  if (retry === undefined) return { next: "give-up" };
  if (retry.kind === "wait") return { next: "wait", afterMs: retry.afterMs };
  return { next: "retry", conflict: error instanceof ConflictError || error instanceof GoneError };
}

/** The most urgent wish of all remedies and outcomes. */
function nextAfter(parts: readonly Part[], executions: readonly Execution[]): PassResult {
  const results = executions.map(({ outcome }) => outcome.result);
  const retries = parts.map(({ retry }) => retry);
  if (results.includes("Failed") || retries.some(retry => retry?.kind === "backoff")) {
    return { next: "retry", conflict: false };
  }
  if (results.includes("Conflict")) return { next: "retry", conflict: true };
  const times = [
    ...parts.map(({ decision }) => decision.recheckAfterMs),
    ...executions.map(({ outcome }) => ("retryAfterMs" in outcome ? outcome.retryAfterMs : undefined)),
    ...retries.map(retry => (retry?.kind === "wait" ? retry.afterMs : undefined)),
  ].filter(time => time !== undefined && Number.isFinite(time));
  if (times.length === 0) return { next: "recheck" };
  return { next: "recheck", afterMs: Math.max(0, Math.min(...times.map(Number))) };
}
