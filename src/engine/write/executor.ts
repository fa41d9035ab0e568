import type { ControllerResilience } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import {
  ConflictError,
  describeError,
  ForbiddenError,
  GoneError,
  TerminalError,
  UnauthorizedError,
  UnavailableError,
  WaitError,
} from "../../core/errors";
import type { Execution, Intent, Outcome, RestartClaim } from "../../core/intent";
import type { EngineMetrics, Log, Writer } from "../../core/ports";
import type { Outcomes, PendingWrite, PlanItem, RemedyDeclaration } from "../../core/remedy";
import { checkRestartBudget } from "../../core/restarts/budget";
import { withDeadline } from "../../core/deadline";
import { isPermitted, requiredPermission } from "./permissions";
import { WriteBackoff } from "./write-backoff";
import type { RestartLedger } from "../restarts/restart-ledger";
import type { LeaderWarmup } from "../lead/leader-warmup";
import type { RestartPermit, RestartPacer } from "../restarts/restart-pacer";

/** A write that gives no answer for this long is doubtful: it may still be carried out. */
export const WRITE_DEADLINE_MS = 60_000;

/**
 * How long a remedy's writes may be begun within one pass, in milliseconds. Each may be slow (an admission webhook has 10 s by default), and what
 * a person changes meanwhile, to stop it above all, is seen by the next pass only.
 */
export const WRITES_WITHIN_MS = 10_000;

/** What is left after that is decided anew, and so soon. */
const NEXT_PASS_MS = 1_000;

/** A restart that waits for what other objects tell is tried again after this; each of them is read within moments, mostly. */
const HEAR_AGAIN_MS = 2_000;

/** What an intent is held against, beside the remedy that wants it. */
export interface ExecutionScope {
  readonly object: ControllerResilience;
  readonly log: Log;
  /** Still leader, without a break since the pass began. */
  readonly mayWrite: () => boolean;
  readonly ledger: RestartLedger;
  /** The object goes: what was made for it goes with it, whatever its mode. */
  readonly isCleanup?: boolean;
  /** The remedy's time in this pass is over. */
  readonly isLate?: boolean;
}

/** What the executor works with. */
export interface ExecutorPorts {
  readonly writer: Writer;
  readonly pacer: RestartPacer;
  readonly warmup: Pick<LeaderWarmup, "isCompleteIn" | "requestMissing">;
  readonly clock: Clock;
  readonly metrics: EngineMetrics;
}

/** How loudly it is told what became of a try. */
const LEVELS: Partial<Record<Outcome["result"], "info" | "warn">> = {
  Executed: "info",
  Forbidden: "warn",
  Failed: "warn",
};

type By = Pick<RemedyDeclaration, "name" | "permissions">;

/** The only one that writes to the cluster, and the only place where budgets, mode and leadership are held against a write. */
export class Executor {
  readonly #ports: ExecutorPorts;
  readonly #backoff: WriteBackoff;

  constructor(ports: ExecutorPorts) {
    this.#ports = ports;
    this.#backoff = new WriteBackoff(ports.clock);
  }

  /** Writes of this namespace that failed and are not tried again yet. */
  pendingIn(namespace: string): PendingWrite[] {
    return this.#backoff.pendingIn(namespace, this.#ports.clock.now().getTime());
  }

  /**
   * Executes the intents of a plan one after the other, since each counts against the budget of the next. Never throws.
   *
   * @returns the executions by item id
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

  /** Carries out an intent, or says why not. Never throws. */
  async execute(by: By, intent: Intent, scope: ExecutionScope): Promise<Outcome> {
    const standing = firstObjection(by, intent, scope) ?? this.#held(intent, scope);
    const outcome = standing ?? (await this.#try(intent, scope));
    this.#ports.metrics.intent(by.name, intent.verb, outcome.result);
    const { target, verb, why } = intent;
    // What was not tried comes again with every pass.
    scope.log[standing === undefined ? (LEVELS[outcome.result] ?? "debug") : "debug"](
      { remedy: by.name, verb, target, why, outcome },
      "intent",
    );
    return outcome;
  }

  /** What holds an intent back that nothing else objects to: the workload's budgets, that they are not known yet, that it failed a moment ago, or that there is no time left for it. */
  #held(intent: Intent, scope: ExecutionScope): Outcome | undefined {
    const { restart } = intent;
    if (restart !== undefined) {
      const { namespace } = scope.object.metadata;
      if (!this.#ports.warmup.isCompleteIn(namespace)) {
        this.#ports.warmup.requestMissing(namespace);
        return { result: "Limited", limit: "LeaderWarmup", retryAfterMs: HEAR_AGAIN_MS };
      }
      const budget = checkRestartBudget(scope.ledger.counted(restart.workload), restart, this.#ports.clock.now());
      if (!budget.allowed) return { result: "Limited", limit: budget.limit, retryAfterMs: budget.retryAfterMs };
    }
    const standing = this.#backoff.standing(intent);
    if (standing !== undefined || scope.isLate !== true) return standing;
    return { result: "Limited", limit: "PassTime", retryAfterMs: NEXT_PASS_MS };
  }

  async #try(intent: Intent, scope: ExecutionScope): Promise<Outcome> {
    try {
      const outcome = await this.#writeAtPace(intent, scope);
      if (outcome.result === "Executed") this.#backoff.clear(intent);
      return outcome;
    } catch (error) {
      const outcome = outcomeOf(error, intent);
      if (!isWorthNoting(error)) return outcome;
      return this.#backoff.note(intent, outcome, !isCertainlyNotDone(error));
    }
  }

  async #writeAtPace(intent: Intent, scope: ExecutionScope): Promise<Outcome> {
    if (intent.restart === undefined) {
      await this.#write(intent);
      return { result: "Executed" };
    }
    const pace = this.#ports.pacer.ask();
    if (!pace.allowed) return { result: "Limited", limit: "RestartPacer", retryAfterMs: pace.retryAfterMs };
    try {
      return await this.#restart(intent, intent.restart, scope, pace.permit);
    } finally {
      // A permit that was used or given back before is not touched by this.
      pace.permit.unused();
    }
  }

  /** Written down first, then asked for: a crash in between can't lose the restart. */
  async #restart(intent: Intent, claim: RestartClaim, scope: ExecutionScope, permit: RestartPermit): Promise<Outcome> {
    await scope.ledger.request(claim);
    // Writing it down took time. The entry stays, and the next leader finds it.
    if (!scope.mayWrite()) return { result: "NotLeader" };
    try {
      await this.#write(intent);
    } catch (error) {
      if (isCertainlyNotDone(error)) scope.ledger.withdraw(claim);
      else permit.used();
      throw error;
    }
    permit.used();
    scope.ledger.confirm(claim);
    return { result: "Executed" };
  }

  #write(intent: Intent): Promise<void> {
    const what = `${intent.verb} ${intent.target.kind} ${intent.target.name}`;
    return withDeadline(this.#ports.clock, WRITE_DEADLINE_MS, what, () => this.#ports.writer.write(intent));
  }
}

type Check = (by: By, intent: Intent, scope: ExecutionScope) => Outcome | undefined;

/** In this order; the first that objects wins. */
const CHECKS: readonly Check[] = [
  // Whoever leads now decides.
  (_by, _intent, { mayWrite }) => (mayWrite() ? undefined : { result: "NotLeader" }),
  // The operator's rights are those of all remedies together; each has its own only.
  (by, intent) => {
    const required = requiredPermission(intent);
    if (isPermitted(required, by.permissions)) return undefined;
    const right = `${required.verb} ${required.resource}`;
    return { result: "Forbidden", message: `${by.name} may not ${right}: it has not declared that right` };
  },
  // An object's effects end at its namespace.
  (_by, { target }, { object }) => {
    if (target.namespace === undefined || target.namespace === object.metadata.namespace) return undefined;
    return {
      result: "Forbidden",
      message: `${target.kind} ${target.namespace}/${target.name} is in another namespace`,
    };
  },
  // Without a uid a successor of the same name would be hit.
  ({ name }, { verb, target }) => {
    if (target.uid !== undefined || (verb !== "evict" && verb !== "delete")) return undefined;
    return { result: "Forbidden", message: `${name} must name the uid of the ${target.kind} that it wants to ${verb}` };
  },
  (_by, _intent, { object, isCleanup }) =>
    object.spec.suspend && isCleanup !== true ? { result: "Skipped" } : undefined,
  (_by, _intent, { object, isCleanup }) =>
    object.spec.mode === "Enforce" || isCleanup === true ? undefined : { result: "Observed" },
  (_by, { skip }) => (skip === true ? { result: "Skipped" } : undefined),
];

function firstObjection(by: By, intent: Intent, scope: ExecutionScope): Outcome | undefined {
  for (const check of CHECKS) {
    const objection = check(by, intent, scope);
    if (objection) return objection;
  }
  return undefined;
}

function outcomeOf(error: unknown, intent: Intent): Outcome {
  const message = describeError(error);
  // Nothing holds a restart back that may have been carried out.
  if (error instanceof UnavailableError && intent.restart !== undefined) return { result: "Failed", message };
  if (error instanceof WaitError) return { result: "Blocked", message, retryAfterMs: error.afterMs };
  if (error instanceof ForbiddenError) return { result: "Forbidden", message };
  if (error instanceof ConflictError || error instanceof GoneError) return { result: "Conflict", message };
  return { result: "Failed", message };
}

/** The API server has said no. A lost answer, a timeout or a 5xx says nothing. */
function isCertainlyNotDone(error: unknown): boolean {
  if (error instanceof UnavailableError) return false;
  const refusals = [WaitError, TerminalError, ConflictError, GoneError, UnauthorizedError];
  return refusals.some(refusal => error instanceof refusal);
}

/** A conflict says that something has changed, so the next pass sees another world. */
function isWorthNoting(error: unknown): boolean {
  return !(error instanceof ConflictError || error instanceof GoneError);
}
