import { Reason, type ConditionType } from "../../api/conditions";
import type { ControllerResilience, ControllerResilienceStatus, RestartStatus } from "../../api/controller-resilience";
import type { Random } from "../../core/clock";
import { nextConditions } from "../../core/conditions";
import { framesOf, publicMessage } from "../../core/errors";
import type { Execution } from "../../core/intent";
import type { EngineMetrics, EventSink, Key, Log, ObjectStore, Writer } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { Decision, Remedy, RemedyStatus } from "../../core/remedy";
import { BLOCKS, REMEDY_KEYS, withoutForeignLists } from "./blocks";
import { Cleanup, hasFinalizer, type CleanupResult } from "./cleanup";
import { concludeGenerally } from "./conclude";
import { checkedDecision } from "./decision";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/deadline";
import { Executor } from "../write/executor";
import { decideFailed, judge, type Judgement } from "./judge";
import { nextAfter, nextOf, type PassResult } from "../loop/pass-result";
import { conditionUpdates, goingUpdates, SUSPENDED } from "./ready";
import { Reporter } from "./reporter";
import { RestartLedger } from "../restarts/restart-ledger";
import type { LeaderWarmup } from "../lead/leader-warmup";
import { countConfirmed, joinRestarts } from "../../core/restarts/history";
import { boundStatus, isSameStatus } from "../../core/status";
import type { RestartPacer } from "../restarts/restart-pacer";
import { WorkloadRestarts } from "../restarts/workload-restarts";

/** What a pass works with. */
export interface ReconcilerPorts {
  readonly store: ObjectStore;
  readonly writer: Writer;
  readonly events: EventSink;
  readonly readers: Readers;
  readonly remedies: readonly Remedy[];
  readonly pacer: RestartPacer;
  readonly warmup: Pick<LeaderWarmup, "answered" | "isCompleteIn" | "askMissingIn">;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

/** One pass over one remedy. */
interface Part extends Judgement {
  readonly condition: ConditionType;
  readonly remedy?: Remedy;
}

/** Runs passes: read the object, let each remedy observe and decide, carry out, report. */
export class Reconciler {
  readonly #ports: ReconcilerPorts;
  readonly #executor: Executor;
  readonly #cleanup: Cleanup;
  readonly #reporter: Reporter;
  readonly #restarts: WorkloadRestarts;

  constructor(ports: ReconcilerPorts) {
    this.#ports = ports;
    this.#executor = new Executor({ ...ports, clock: ports.readers.clock });
    this.#cleanup = new Cleanup({ ...ports, executor: this.#executor });
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
      if (mayWrite()) this.#hear(key, object);
      if (object === null) return { next: "forget" };
      if (object.metadata.deletionTimestamp !== undefined) return await this.#finish(key, object, { log, mayWrite });
      return await this.#reconcileObject(key, object, { log, mayWrite });
    } catch (error) {
      log.warn({ error: publicMessage(error), stack: framesOf(error) }, "the pass ended early");
      return nextOf(error);
    }
  }

  /** Nothing is remembered of the object any more, and its metrics go. */
  forget(key: Key): void {
    const { remedies, log } = this.#ports;
    for (const remedy of remedies) {
      try {
        remedy.forget?.(key);
      } catch (error) {
        log.error({ key, remedy: remedy.name, error: publicMessage(error) }, "forgetting failed: a bug");
      }
    }
    this.#reporter.forget(key);
  }

  async #reconcileObject(key: Key, read: ControllerResilience, pass: Pass): Promise<PassResult> {
    const judged = await this.#judgeAll(read, pass.log);
    if (!pass.mayWrite()) return { next: "recheck" };
    const [object, parts] = await this.#cleanup.hold(read, judged);
    const ledger = this.#ledgerOf(object, restartsAfter(object, parts));
    const scope = { ...pass, object, ledger };
    const carriedOut = await this.#carryOut(parts, scope);
    const swept = await this.#cleanup.sweep(object, scope);
    const executions = [...carriedOut.executions, ...swept.executions];
    this.#reporter.executions(key, object, executions);
    const status = this.#statusOf({ object, ledger, swept }, carriedOut.parts);
    if (!pass.mayWrite()) return { next: "recheck" };
    const written = await this.#writeStatus(ledger.object, status);
    this.#report(key, object, status, carriedOut.parts);
    if (!pass.mayWrite()) return { next: "recheck" };
    await this.#cleanup.release(written, parts, swept);
    return nextAfter([...carriedOut.parts, ...swept.wishes], executions);
  }

  /** The object is on its way out: whatever was made for it goes first. */
  async #finish(key: Key, object: ControllerResilience, pass: Pass): Promise<PassResult> {
    if (!hasFinalizer(object)) return { next: "forget" };
    if (!pass.mayWrite()) return { next: "recheck" };
    const ledger = this.#ledgerOf(object, object.status?.restarts ?? []);
    const result = await this.#cleanup.finish(object, { ...pass, object, ledger });
    this.#reporter.executions(key, object, result.executions);
    if (!pass.mayWrite()) return { next: "recheck" };
    if (result.isDone) {
      await this.#cleanup.letGo(object);
      return { next: "forget" };
    }
    const { metadata, status } = object;
    const conditions = nextConditions(status?.conditions ?? [], goingUpdates(result), metadata.generation, this.#now());
    await this.#writeStatus(object, boundStatus({ ...status, conditions }, this.#now()));
    this.#reporter.conditions(key, object, conditions);
    return nextAfter(result.wishes, result.executions);
  }

  #report(key: Key, object: ControllerResilience, status: ControllerResilienceStatus, parts: readonly Part[]): void {
    this.#reporter.conditions(key, object, status.conditions ?? []);
    this.#reporter.bindings(key, status.bindings);
    this.#reporter.flows(key, status.flows);
    const announcements = parts.flatMap(({ decision }) => decision.announcements ?? []);
    this.#reporter.announcements(key, object, announcements);
  }

  #ledgerOf(object: ControllerResilience, history: readonly RestartStatus[]): RestartLedger {
    const { store, readers } = this.#ports;
    return new RestartLedger(object, history, { store, clock: readers.clock, restarts: this.#restarts });
  }

  /** Returns the object as it stands afterwards. */
  async #writeStatus(object: ControllerResilience, status: ControllerResilienceStatus): Promise<ControllerResilience> {
    if (isSameStatus(object.status, status)) return object;
    const resourceVersion = await this.#store("writing status", store => store.writeStatus(object, status));
    return { ...object, metadata: { ...object.metadata, resourceVersion }, status };
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

  async #carryOut(parts: readonly Part[], scope: Scope): Promise<{ parts: Part[]; executions: Execution[] }> {
    const concluded: Part[] = [];
    const all: Execution[] = [];
    for (const part of parts) {
      const { remedy, decision } = part;
      const executions = remedy === undefined ? [] : await this.#executor.executeAll(remedy, decision.intents, scope);
      concluded.push(this.#conclude(part, executions, scope.log));
      all.push(...executions);
    }
    return { parts: concluded, executions: all };
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

  #statusOf({ object, ledger, swept }: Swept, parts: readonly Part[]): ControllerResilienceStatus {
    const now = this.#now();
    const before = object.status ?? {};
    const generation = object.metadata.generation;
    const updates = conditionUpdates(parts, object.spec.suspend, swept);
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

  /** What it tells of restarts counts from now on, whatever becomes of this pass. Null: it is gone. */
  #hear(key: Key, object: ControllerResilience | null): void {
    const restarts = object?.status?.restarts ?? [];
    if (object !== null) this.#restarts.note(object, restarts);
    for (const { time } of restarts) this.#ports.pacer.seed(new Date(time));
    this.#ports.warmup.answered(key);
  }

  #store<T>(what: string, work: (store: ObjectStore) => Promise<T>): Promise<T> {
    return withDeadline(this.#ports.readers.clock, STORE_DEADLINE_MS, what, () => work(this.#ports.store));
  }

  #now(): Date {
    return this.#ports.readers.clock.now();
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

/** After what blocks have left behind was looked for. */
interface Swept {
  readonly object: ControllerResilience;
  readonly ledger: RestartLedger;
  readonly swept: CleanupResult;
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

/** The restarts as the remedies see them now, each its own. */
function restartsAfter(object: ControllerResilience, parts: readonly Part[]): RestartStatus[] {
  const told = parts.flatMap(({ remedy, decision }) => {
    const restarts = decision.parts?.restarts;
    return restarts === undefined ? [] : [{ causes: remedy?.causes ?? [], restarts }];
  });
  return joinRestarts(object.status?.restarts ?? [], told);
}
