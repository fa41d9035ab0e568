import type { ControllerResilience } from "../../api/controller-resilience";
import { type Check, firstMatch } from "../../core/checks";
import { type Clock, withDeadline } from "../../core/time";
import {
  ConflictError,
  describeError,
  ForbiddenError,
  GoneError,
  TerminalError,
  TerminatingError,
  UnauthorizedError,
  UnavailableError,
  WaitError,
} from "../../core/errors";
import {
  type Execution,
  type Intent,
  type Outcome,
  type RestartClaim,
  type RolloutClaim,
  isPermitted,
  requiredPermission,
} from "../../core/intent";
import type { Mode, Outcomes, PendingRestart, PlanItem, RemedyDeclaration } from "../../core/remedy";
import type { Measures } from "../../core/metrics";
import type { Log, Writer } from "../../core/ports";
import { keyOfIntent, WriteBackoff, type WriteKey } from "./write-backoff";
import type { ObjectRestarts } from "../../restarts/ledger";

/** Deadline of one write, in milliseconds. After it the outcome is unknown: the write may still take effect. */
export const WRITE_DEADLINE_MS = 60_000;

/**
 * A remedy starts writes for this long within one pass, in milliseconds. Each may be slow (an admission webhook has 10 s by default), and only
 * the next pass sees what a person changes meanwhile, such as `suspend`.
 */
export const WRITES_WITHIN_MS = 10_000;

/** The rest is planned again after this. */
const NEXT_PASS_MS = 1_000;

/** What an intent is checked against, besides its remedy. */
export interface ExecutionScope {
  readonly object: ControllerResilience;
  readonly mode: Mode;
  readonly log: Log;
  /** Reports whether this process has led without a break since the pass began. */
  readonly mayWrite: () => boolean;
  /** Called before a write is tried. It throws in a pass on caches, which writes nothing. */
  readonly beforeWrite?: () => void;
  readonly restarts: ObjectRestarts;
  /** A cleanup runs in every mode, also for a suspended object that is being deleted. */
  readonly isCleanup?: boolean;
  /** The remedy has used up its time in this pass. */
  readonly isLate?: boolean;
}

export interface ExecutorPorts {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly metrics: Pick<Measures, "count">;
}

/** Log levels of outcomes; others are debug. */
const LEVELS: Partial<Record<Outcome["result"], "info" | "warn">> = {
  Executed: "info",
  Forbidden: "warn",
  Failed: "warn",
};

type By = Pick<RemedyDeclaration, "name" | "permissions">;

/** The only writer to the cluster, and the only place that checks budgets, mode and leadership before a write. */
export class Executor {
  readonly #ports: ExecutorPorts;
  /** Also of writes that have taken effect and that another writer may undo: the same write waits then as after a refusal. */
  readonly #backoff: WriteBackoff;

  constructor(ports: ExecutorPorts) {
    this.#ports = ports;
    this.#backoff = new WriteBackoff(ports.clock);
  }

  /** Restarts in this namespace that failed and are not tried again yet. */
  pendingRestarts(namespace: string): PendingRestart[] {
    return this.#backoff.pendingRestarts(namespace);
  }

  /**
   * Returns one of these writes that has failed, or was undone, for an hour; a restart that waits has its own limit, and what is only observed is
   * not tried.
   */
  lasting(executions: readonly Execution[]): Execution | undefined {
    return executions.find(({ intent, outcome: { result } }) => {
      if (intent.restart !== undefined || result === "Observed") return false;
      const end = result === "Blocked" ? endOf(intent) : undefined;
      return [keyOfIntent(intent), end].some(key => key !== undefined && this.#backoff.isLasting(key));
    });
  }

  /**
   * Executes the intents of a plan one after the other, since each counts against the budget of the next.
   *
   * @returns the executions by item id
   * @throws what `beforeWrite` throws, and nothing else
   */
  async executeAll(by: By, items: readonly PlanItem[], scope: ExecutionScope): Promise<Outcomes> {
    const { clock } = this.#ports;
    const startedMs = clock.monotonicMs();
    const outcomes = new Map<string, Execution[]>();
    for (const { id, intents } of items) {
      for (const intent of intents) {
        const isLate = clock.monotonicMs() - startedMs > WRITES_WITHIN_MS;
        const outcome = await this.execute(by, intent, { ...scope, isLate });
        outcomes.set(id, [...(outcomes.get(id) ?? []), { intent, outcome }]);
      }
    }
    return outcomes;
  }

  /** Executes an intent, or returns why not. @throws what `beforeWrite` throws, and nothing else */
  async execute(by: By, intent: Intent, scope: ExecutionScope): Promise<Outcome> {
    const objection = firstMatch(CHECKS, { ...scope, by, intent }) ?? this.#deferred(intent, scope);
    if (objection === undefined) scope.beforeWrite?.();
    const { restart, rollout } = intent;
    const outcome = await this.#conclude(by, intent, { log: scope.log, objection }, () => {
      if (restart) return this.#restart(intent, restart, scope);
      return rollout ? this.#rollOut(intent, rollout, scope) : this.#write(intent);
    });
    if (restart && outcome.result === "Limited")
      this.#ports.metrics.count("restarts_deferred_total", { limit: outcome.limit });
    return outcome;
  }

  /**
   * Executes a write for no object, such as the deletion of a leftover of one that is gone. It takes nothing down and counts against no
   * budget. Never throws.
   */
  executeUnowned(
    by: By,
    intent: Intent,
    { log, mayWrite }: Pick<ExecutionScope, "log" | "mayWrite">,
  ): Promise<Outcome> {
    const objection = firstMatch(UNOWNED_CHECKS, { mayWrite, by, intent }) ?? this.#standing(intent);
    return this.#conclude(by, intent, { log, objection }, () => this.#write(intent));
  }

  /** Tries a write without an objection, and counts and logs what it came to. */
  async #conclude(
    by: By,
    intent: Intent,
    { log, objection }: { readonly log: Log; readonly objection: Outcome | undefined },
    write: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const outcome = objection ?? (await this.#attempt(intent, write));
    const { verb, target, why } = intent;
    this.#ports.metrics.count("intents_total", { remedy: by.name, verb, result: outcome.result });
    // Intents that were not tried come back with every pass: debug.
    const level = objection === undefined ? (LEVELS[outcome.result] ?? "debug") : "debug";
    log[level]({ remedy: by.name, verb, target, why, outcome }, "intent");
    return outcome;
  }

  /** What defers an otherwise permitted intent: the checks of a restart, backoff after a failure, the time of the pass, or the restart pacer. */
  #deferred(intent: Intent, { restarts, isLate }: ExecutionScope): Outcome | undefined {
    const restart = intent.restart && restarts.deferral(intent.restart);
    const deferral = restart ?? (intent.rollout && restarts.rolloutDeferral(intent.rollout));
    if (deferral !== undefined) return deferral;
    const standing = this.#standing(intent);
    if (standing !== undefined) return standing;
    if (isLate === true) return { result: "Limited", limit: "PassTime", retryAfterMs: NEXT_PASS_MS };
    return intent.restart && restarts.pace(intent.restart);
  }

  /** Backoff after a failure, or because another writer undoes what is written. */
  #standing(intent: Intent): Outcome | undefined {
    const end = endOf(intent);
    return this.#backoff.pending(keyOfIntent(intent)) ?? (end && this.#backoff.pending(end));
  }

  /** Begun before the write, so that no other pass begins one meanwhile. A lost answer counts as begun. */
  async #rollOut(intent: Intent, claim: RolloutClaim, { restarts }: ExecutionScope): Promise<Outcome> {
    const takeBack = restarts.rolloutBegun(claim);
    try {
      return await this.#write(intent);
    } catch (error) {
      if (isCertainlyNotDone(error)) takeBack();
      throw error;
    }
  }

  async #attempt(intent: Intent, write: () => Promise<Outcome>): Promise<Outcome> {
    const key = keyOfIntent(intent);
    try {
      const outcome = await write();
      if (outcome.result !== "Executed") return outcome;
      this.#backoff.clear(key);
      const end = endOf(intent);
      if (end !== undefined) this.#backoff.noteLast(end, undoneBy(intent));
      return outcome;
    } catch (error) {
      return this.#backoff.note(key, outcomeOf(error, intent), intent);
    }
  }

  async #restart(intent: Intent, claim: RestartClaim, { restarts, mayWrite }: ExecutionScope): Promise<Outcome> {
    const request = await restarts.request(claim);
    if (request.result === "Limited") return request;
    // Writing status took time.
    if (!mayWrite()) {
      request.end("NotWritten");
      return { result: "NotLeader" };
    }
    try {
      await this.#write(intent);
    } catch (error) {
      request.end(isCertainlyNotDone(error) ? "Refused" : "Unknown");
      throw error;
    }
    request.end("Executed");
    return { result: "Executed" };
  }

  async #write(intent: Intent): Promise<Outcome> {
    const what = `${intent.verb} ${intent.target.kind} ${intent.target.name}`;
    await withDeadline(this.#ports.clock, WRITE_DEADLINE_MS, what, () => this.#ports.writer.write(intent));
    return { result: "Executed" };
  }
}

/** What a write leads to, if another writer may undo it: the next pass plans the same write again then. */
function endOf(intent: Intent): WriteKey | undefined {
  const { verb, target, leadsTo } = intent;
  const { apiVersion, kind, namespace = "" } = target;
  if (leadsTo !== undefined)
    return { place: ["end", apiVersion, kind, namespace, leadsTo.of].join(" "), state: leadsTo.state };
  const { place, state } = keyOfIntent(intent);
  return namespace === "" && (verb === "create" || verb === "apply") ? { place: `end ${place}`, state } : undefined;
}

function undoneBy({ target: { kind, namespace, name } }: Intent): Outcome {
  const object = [namespace, name].filter(Boolean).join("/");
  const message = `another writer has changed or deleted ${kind} ${object} since it was last written`;
  return { result: "Blocked", message, retryAfterMs: 0 };
}

/** A write, and what it is checked against. */
type Checked<Scope> = Scope & { readonly by: By; readonly intent: Intent };

/** Of every write. In this order; the first objection wins. */
const UNOWNED_CHECKS: readonly Check<Checked<Pick<ExecutionScope, "mayWrite">>, Outcome>[] = [
  // Only the leader writes.
  ({ mayWrite }) => (mayWrite() ? undefined : { result: "NotLeader" }),
  // The operator has the rights of all remedies; each remedy uses only its own.
  ({ by, intent }) => {
    const required = requiredPermission(intent);
    if (isPermitted(required, by.permissions)) return undefined;
    const right = `${required.verb} ${required.resource}`;
    return { result: "Forbidden", message: `${by.name} may not ${right}: it does not declare that permission` };
  },
  // Without a uid, a successor of the same name could be hit.
  ({ by: { name }, intent: { verb, target } }) => {
    if (target.uid !== undefined || (verb !== "evict" && verb !== "delete")) return undefined;
    return { result: "Forbidden", message: `${name} expected to give the uid of the ${target.kind} to ${verb}` };
  },
];

/** Of a write for an object. */
const CHECKS: readonly Check<Checked<ExecutionScope>, Outcome>[] = [
  ...UNOWNED_CHECKS,
  // An object acts only within its own namespace.
  ({ intent: { target }, object }) => {
    if (target.namespace === undefined || target.namespace === object.metadata.namespace) return undefined;
    return {
      result: "Forbidden",
      message: `${target.kind} ${target.namespace}/${target.name} is in another namespace`,
    };
  },
  ({ object, isCleanup }) => (object.spec.suspend && isCleanup !== true ? { result: "Skipped" } : undefined),
  ({ mode, isCleanup }) => (mode === "Enforce" || isCleanup === true ? undefined : { result: "Observed" }),
  ({ intent: { skip } }) => (skip === true ? { result: "Skipped" } : undefined),
];

function outcomeOf(error: unknown, intent: Intent): Outcome {
  const message = describeError(error);
  // A 5xx does not say whether the restart was executed, so it is no refusal.
  if (error instanceof UnavailableError && intent.restart !== undefined) return { result: "Failed", message };
  if (error instanceof WaitError) return { result: "Blocked", message, retryAfterMs: error.afterMs };
  // The pass acted on something that has changed: the next pass reads it. Of a namespace that is being deleted, it may be a cache.
  const isOutdated = [ConflictError, GoneError, TerminatingError].some(one => error instanceof one);
  if (isOutdated) return { result: "Conflict", message };
  if (error instanceof ForbiddenError) return { result: "Forbidden", message };
  return { result: "Failed", message };
}

/** Reports whether the API server refused. A lost answer, a timeout or a 5xx leaves that open. */
function isCertainlyNotDone(error: unknown): boolean {
  if (error instanceof UnavailableError) return false;
  const refusals = [WaitError, TerminalError, ConflictError, GoneError, UnauthorizedError];
  return refusals.some(refusal => error instanceof refusal);
}
