import { ConditionType } from "../../api/conditions";
import type {
  ControllerResilience,
  ControllerResilienceStatus,
  StatusCondition,
} from "../../api/controller-resilience";
import { type Random, STORE_DEADLINE_MS, withDeadline } from "../../core/time";
import { nextConditions, boundStatus, hasNews } from "../../core/status";
import { ConflictError, framesOf, GoneError, NotYetError, publicMessage, TerminalError } from "../../core/errors";
import type { Execution } from "../../core/intent";
import type { Mode, Remedy, Report, StatusLists } from "../../core/remedy";
import type { EngineMetrics } from "../../core/metrics";
import type { EventSink, Key, Log, ObjectStore, Writer } from "../../core/ports";
import type { Readers } from "../../core/readers";
import { nextAfter, nextOf, type PassResult } from "../loop/requeue";
import { retell, type Told } from "../write/write-backoff";
import { keyOf } from "../../core/text";
import { LiveReadsNeeded, ObjectSession } from "../object/object-session";
import type { ObjectRestarts, Restarts, SettledRestarts } from "../../restarts/ledger";
import { Executor, type ExecutionScope } from "../write/executor";
import { hasFinalizer, hold, release, sweep, type CleanupResult, type Reported } from "./cleanup";
import { passMode, type OperatorMode, conditionUpdates, deletionUpdates, SUSPENDED } from "./ready";
import { observeAndPlan, type RemedyPass, withPatience, withReport } from "./remedy-pass";
import { GRACE_MS, Reporter } from "./reporter";

/** What a pass works with. */
export interface ReconcilerPorts {
  readonly store: ObjectStore;
  readonly writer: Writer;
  readonly events: EventSink;
  /** They read live what a write rests on. The engine uses their clock. */
  readonly readers: Readers;
  /** The same from watch caches, as far as there are any. */
  readonly cachedReaders: Readers;
  readonly remedies: readonly Remedy[];
  readonly restarts: Restarts;
  /** What is wrong with the operator's clock, or null. */
  readonly clockTrouble?: () => string | null;
  /** Absent: Enforce. */
  readonly mode?: OperatorMode | undefined;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

/**
 * Runs passes: reads the object, lets each remedy observe and plan, executes the plans, reports. A pass works on caches and
 * writes conditions and targets; where there is anything else to write, it is repeated at once with live reads
 * (docs/adr/0027-read-from-caches-write-from-live-reads.md).
 */
export class Reconciler {
  readonly #ports: ReconcilerPorts;
  readonly #executor: Executor;
  readonly #reporter: Reporter;
  /** Of reads that fail now, by object and remedy. */
  readonly #failures = new Map<string, ReadFailure>();

  constructor(ports: ReconcilerPorts) {
    this.#ports = ports;
    this.#executor = new Executor({ ...ports, clock: ports.readers.clock });
    this.#reporter = new Reporter({ ...ports, clock: ports.readers.clock });
  }

  /**
   * Runs one pass for one key. `mayWrite` reports whether this process has led without a break since the pass began; nothing is written
   * when it has not. Failures are in the result; only a bug of the engine itself is thrown.
   */
  async reconcile(key: Key, mayWrite: () => boolean): Promise<PassResult> {
    const log = this.#ports.log.child({ key, pass: this.#newPassId() });
    try {
      return (await this.#passOnCaches(key, log, mayWrite)) ?? (await this.#passLive(key, log, mayWrite));
    } catch (error) {
      if (error instanceof NotYetError) return { next: "recheck", afterMs: error.afterMs };
      const result = nextOf(error);
      // The object has changed, or is gone, since it was read: nothing is wrong.
      const level = result.next === "retry" && result.conflict ? "info" : "warn";
      log[level]({ error: publicMessage(error), stack: framesOf(error) }, "pass ended early");
      return result;
    }
  }

  /** Returns undefined if there is something to write that needs live reads, or if the cache lacks the object. */
  async #passOnCaches(key: Key, log: Log, mayWrite: () => boolean): Promise<PassResult | undefined> {
    const { store, cachedReaders: readers, restarts } = this.#ports;
    const read = store.cached(key);
    if (read === undefined) return undefined;
    if (hasNews(read)) {
      // Live reads may fail for ever, as in a namespace without a RoleBinding, and a new leader restarts nothing elsewhere before.
      if (mayWrite()) restarts.load(key, read);
      return undefined;
    }
    const mode = await this.#modeOf(read, readers, mayWrite);
    const object = mayWrite() ? restarts.load(key, read, mode) : read;
    const session = new ObjectSession(object, store, readers.clock, true);
    try {
      return await this.#reconcileObject({ key, log, mayWrite, session, mode, readers });
    } catch (error) {
      // The API server has a newer object than the cache, which may be behind for minutes, or reads it by another definition by now.
      if ([LiveReadsNeeded, ConflictError, GoneError, TerminalError].some(one => error instanceof one))
        return undefined;
      throw error;
    }
  }

  async #passLive(key: Key, log: Log, mayWrite: () => boolean): Promise<PassResult> {
    const { store, readers, restarts } = this.#ports;
    const get = withDeadline(readers.clock, STORE_DEADLINE_MS, "reading the object", () => store.get(key));
    const read = await get.catch((error: unknown) => {
      if (mayWrite()) restarts.unread(key, error);
      throw error;
    });
    if (read === null) {
      if (mayWrite()) restarts.gone(key);
      return { next: "forget" };
    }
    const isDeleting = read.metadata.deletionTimestamp !== undefined;
    const mode = isDeleting ? read.spec.mode : await this.#modeOf(read, readers, mayWrite);
    const object = mayWrite() ? restarts.load(key, read, mode) : read;
    const pass: Pass = { key, log, mayWrite, readers, mode, session: new ObjectSession(object, store, readers.clock) };
    return isDeleting ? await this.#finalize(pass) : await this.#reconcileObject(pass);
  }

  /** The restarts of an object whose Namespace cannot be read are loaded nevertheless: a new leader restarts nothing elsewhere before. */
  async #modeOf(object: ControllerResilience, readers: Readers, mayWrite: () => boolean): Promise<Mode> {
    try {
      return await passMode(object, this.#ports.mode ?? "Enforce", readers);
    } catch (error) {
      if (mayWrite()) this.#ports.restarts.load(keyOf(object), object);
      throw error;
    }
  }

  /** Drops what is remembered of the object, and its metrics. */
  forget(key: Key): void {
    const { remedies, log } = this.#ports;
    for (const remedy of remedies) {
      this.#failures.delete(`${key} ${remedy.name}`);
      try {
        remedy.forget?.(key);
      } catch (error) {
        log.error(
          { key, remedy: remedy.name, error: publicMessage(error) },
          "remedy failed to forget an object: a bug",
        );
      }
    }
    this.#reporter.forget(key);
  }

  async #reconcileObject(pass: Pass): Promise<PassResult> {
    const planned = await this.#planAll(pass);
    if (!pass.mayWrite()) return { next: "recheck" };
    const held = await hold(pass.session, pass.mode, planned);
    const scope = this.#scopeOf(pass, settledBy(held));
    const { passes, executions } = await this.#executeAll(held, scope);
    const swept = await this.#sweep(pass, scope);
    executions.push(...swept.executions);
    this.#reporter.executions(pass.session.object, executions);
    const status = this.#statusOf(pass, scope.restarts, passes, swept);
    if (!pass.mayWrite()) return { next: "recheck" };
    await pass.session.writeStatus(status);
    for (const { remedy, isBlind } of passes) if (isBlind !== true) this.#failures.delete(`${pass.key} ${remedy.name}`);
    this.#ports.restarts.load(pass.key, pass.session.object, pass.mode);
    this.#report(pass, status, passes);
    if (!pass.mayWrite()) return { next: "recheck" };
    await release(pass.session, passes, swept);
    const reports = passes.map(({ reported }) => reported);
    return nextAfter([...passes, ...reports, ...swept.requeues], executions);
  }

  /** Deletes what was made for an object that is being deleted, then removes the finalizer. */
  async #finalize(pass: Pass): Promise<PassResult> {
    const { key, session } = pass;
    const { object } = session;
    if (!hasFinalizer(object)) return { next: "forget" };
    if (!pass.mayWrite()) return { next: "recheck" };
    const scope = this.#scopeOf(pass);
    const result = await this.#sweep(pass, scope);
    this.#reporter.executions(object, result.executions);
    if (!pass.mayWrite()) return { next: "recheck" };
    if (result.isDone) {
      await session.setFinalizer(false);
      return { next: "forget" };
    }
    const { metadata, status } = object;
    const conditions = nextConditions(
      status?.conditions ?? [],
      deletionUpdates(result),
      metadata.generation,
      this.#now(),
    );
    await session.writeStatus(boundStatus({ ...status, conditions }));
    this.#reporter.conditions(key, object, conditions);
    return nextAfter(result.requeues, result.executions);
  }

  #sweep({ session, readers }: Pass, scope: ExecutionScope): Promise<CleanupResult> {
    return sweep(session.object, scope, { remedies: this.#ports.remedies, executor: this.#executor, readers });
  }

  #planAll({ key, session: { object }, mode, log, readers }: Pass): Promise<RemedyPass[]> {
    const { remedies } = this.#ports;
    const pending = this.#executor.pendingRestarts(object.metadata.namespace);
    // What a suspended object holds, it holds also without the block.
    const isSelected = (remedy: Remedy): boolean =>
      object.spec[remedy.block] !== undefined || (object.spec.suspend && remedy.whileSuspended?.(object) !== undefined);
    const selected = remedies.filter(isSelected);
    for (const remedy of remedies) if (object.spec.suspend || !selected.includes(remedy)) remedy.pause?.(key);
    return Promise.all(
      selected.map(async remedy =>
        object.spec.suspend
          ? withReport(remedy, suspendedReport(remedy, object))
          : await observeAndPlan(remedy, { ...object, mode }, { readers, log, pending }),
      ),
    );
  }

  /** One remedy after the other, since each restart counts against the budget of the next. */
  async #executeAll(
    planned: readonly RemedyPass[],
    scope: ExecutionScope,
  ): Promise<{ passes: Reported[]; executions: Execution[] }> {
    const passes: Reported[] = [];
    const executions: Execution[] = [];
    const { conditions = [] } = scope.object.status ?? {};
    for (const pass of planned) {
      const outcomes = await this.#executor.executeAll(pass.remedy, pass.plan.items, scope);
      const known = conditions.find(({ type }) => type === pass.remedy.condition);
      const id = `${keyOf(scope.object)} ${pass.remedy.name}`;
      const seen = this.#unlessClockIsOff(await pass.report(outcomes));
      const isBlind = seen.reason === "ObserveFailed";
      const report = isBlind
        ? this.#steady(id, hasNews(scope.object) ? [] : conditions, pass.remedy.condition, seen)
        : seen;
      const written = [...outcomes.values()].flat();
      const failing = this.#executor.lasting(written);
      passes.push({ ...pass, reported: withPatience(report, { known, failing, now: this.#now() }), isBlind });
      executions.push(...written);
    }
    return { passes, executions };
  }

  /**
   * What status tells stays while reads fail and may succeed again: for {@link GRACE_MS}, and then the first failure, until it is met no more
   * ({@link retell}). A change of the spec ends both.
   */
  #steady(id: string, conditions: readonly StatusCondition[], condition: string, report: Report): Report {
    const nowMs = this.#ports.readers.clock.monotonicMs();
    const before = conditions.find(({ type }) => type === condition);
    const { told, sinceMs = nowMs } = (before && this.#failures.get(id)) ?? {};
    if (report.stalled !== undefined) return report;
    if (before !== undefined && before.reason !== "ObserveFailed" && nowMs - sinceMs < GRACE_MS) {
      this.#failures.set(id, { sinceMs });
      return asBefore(report, before, conditions);
    }
    const next = retell(told, report.message, nowMs);
    this.#failures.set(id, { sinceMs, told: next });
    return { ...report, message: next.message };
  }

  /** Evidence has an age by the operator's clock, so with a wrong one its absence proves nothing, and what rests on it waits. */
  #unlessClockIsOff(report: Report): Report {
    const trouble = this.#ports.clockTrouble?.() ?? null;
    if (trouble === null) return report;
    const message = `Unknown, because ${trouble}: set the clock of its node.`;
    const reason = "ObserveFailed";
    const stalled = { reason, message };
    if (report.status !== "True") return { ...report, stalled: report.stalled ?? stalled };
    return { ...report, status: "Unknown", reason, message, stalled };
  }

  #scopeOf({ session, mode, log, mayWrite }: Pass, settled: readonly SettledRestarts[] = []): ExecutionScope {
    const { object, beforeWrite } = session;
    const ended = this.#ports.remedies.filter(({ block }) => object.spec[block] === undefined);
    const causes = ended.flatMap(remedy => remedy.causes ?? []);
    const restarts = this.#ports.restarts.settle(session, settled, causes);
    return { object, mode, log, mayWrite, beforeWrite, restarts };
  }

  #report({ key, session }: Pass, status: ControllerResilienceStatus, passes: readonly Reported[]): void {
    const before = { ...session.object, status: session.statusRead };
    const requests = passes.flatMap(({ reported }) => reported.events ?? []);
    this.#reporter.conditions(key, before, status.conditions ?? [], requests);
    this.#ports.metrics.status(key, { spec: session.object.spec, status });
    this.#reporter.events(session.object, requests);
  }

  #statusOf(
    { session: { object, statusRead }, mode }: Pass,
    restarts: ObjectRestarts,
    passes: readonly Reported[],
    swept: CleanupResult,
  ): ControllerResilienceStatus {
    const now = this.#now();
    const { generation } = object.metadata;
    const { suspend: suspended } = object.spec;
    const reports = passes.map(({ remedy, reported }) => ({ condition: remedy.condition, report: reported }));
    const updates = conditionUpdates(reports, { suspended, mode }, swept);
    const status: ControllerResilienceStatus = {
      ...this.#withoutListsOfAbsentBlocks(statusRead, object),
      ...passes.reduce<StatusLists>((lists, { reported }) => ({ ...lists, ...reported.lists }), {}),
      observedGeneration: generation,
      mode,
      ...restarts.status(),
      conditions: nextConditions(statusRead.conditions ?? [], updates, generation, now),
    };
    return boundStatus(status);
  }

  /** While an object is suspended nothing is cleaned up, so its lists may still hold. */
  #withoutListsOfAbsentBlocks(status: ControllerResilienceStatus, { spec }: ControllerResilience) {
    const kept = { ...status };
    for (const { block, owns } of this.#ports.remedies) {
      if (spec[block] !== undefined || spec.suspend) continue;
      for (const list of [owns].flat()) Reflect.deleteProperty(kept, list);
    }
    return kept;
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

/** Reads that fail. */
interface ReadFailure {
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** Absent: status does not tell of it yet. */
  readonly told?: Told;
}

/** A report that says what its condition, Reconciling and Stalled have said before. */
function asBefore(report: Report, before: StatusCondition, conditions: readonly StatusCondition[]): Report {
  const { status, reason, message } = before;
  const isTrue = (type: string): StatusCondition | undefined =>
    conditions.find(one => one.type === type && one.status === "True");
  const [busy, stuck] = [isTrue(ConditionType.Reconciling), isTrue(ConditionType.Stalled)];
  return {
    ...{ ...report, status, reason, message },
    progressing: busy?.message === message,
    ...(stuck?.reason === reason && { stalled: { reason, message: stuck.message } }),
  };
}

/** One pass over one object. */
interface Pass {
  readonly key: Key;
  readonly session: ObjectSession;
  readonly readers: Readers;
  readonly mode: Mode;
  readonly log: Log;
  readonly mayWrite: () => boolean;
}

function suspendedReport(remedy: Remedy, object: ControllerResilience): Report {
  const message = [SUSPENDED, remedy.whileSuspended?.(object)].filter(Boolean).join(" ");
  return { status: "Unknown", reason: "Suspended", message };
}

/** The restarts of each remedy with the outcomes that it has settled. */
function settledBy(passes: readonly RemedyPass[]): SettledRestarts[] {
  return passes.flatMap(({ remedy, plan: { restarts } }) =>
    restarts === undefined ? [] : [{ causes: remedy.causes ?? [], restarts }],
  );
}
