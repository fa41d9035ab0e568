import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { Facts, Stored } from "./facts";
import { ForbiddenError, publicMessage } from "../../core/errors";
import type { Execution, Outcome } from "../../core/intent";
import { objectOf } from "../../core/json";
import type { Clock, TokenBucket } from "../../core/time";
import { workloadId } from "../../core/text";
import { type Coverage, type HandlerFacts, totalCoverage } from "./coverage";
import { isGenerated, listedIn, type PlannedWrite } from "./generated";
import type { NamespacePlan } from "./plan";
import type { NamespaceFailure, NamespaceResult } from "./report";

/** A failure that lasts this long is reported: most pass by themselves. */
const REPORT_AFTER_MS = 60_000;

/** A failure that lasts this long needs a person. */
const STALLED_AFTER_MS = 600_000;

/** A workload that is gone for less than this may be replaced just now: its object, with budgets and remembered bindings, stays. */
const VANISHED_MS = 600_000;

/** A write and its outcome. */
export type WriteOutcome = PlannedWrite & Execution;

/** The result of one pass over a namespace. */
export interface NamespaceOutcome {
  readonly plan: NamespacePlan;
  readonly coverage: Coverage;
  readonly handlers: HandlerFacts;
  readonly outcomes: readonly WriteOutcome[];
}

/** What is known of one namespace. */
class Kept {
  outcome?: NamespaceOutcome;
  /** By uid of the ClusterControllerResilience; with an empty one for all. */
  failures: ReadonlyMap<string, Failure> = new Map();
  /** When listed workloads were first found to be gone. */
  gone: ReadonlyMap<string, number> = new Map();
  /** See {@link Facts}. */
  readonly stored = new Map<string, Stored>();
  /** When it may be written to. Absent: it waits for no turn. */
  turnMs: number | undefined;
}

/** A failure, and since when it lasts. */
interface Failure {
  readonly message: string;
  readonly isRefused: boolean;
  readonly sinceMs: number;
}

/** Whose plans are meant. */
type Planned = ClusterControllerResilience["metadata"];

/** Stands for the list of all namespaces. */
export const ALL = "*";

/** What the last pass over each namespace came to, and the last list of them. Times are on the monotonic clock. */
export class Results {
  readonly #byNamespace = new Map<string, Kept>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  clear(): void {
    this.#byNamespace.clear();
  }

  forget(namespace: string): void {
    this.#byNamespace.delete(namespace);
  }

  set(namespace: string, outcome: NamespaceOutcome): void {
    const kept = this.#kept(namespace);
    const failures = new Map<string, Failure>();
    for (const { for: uid, outcome: result } of outcome.outcomes) {
      const message = failureOf(result);
      if (message === undefined || failures.has(uid)) continue;
      const sinceMs = kept.failures.get(uid)?.sinceMs ?? this.#nowMs();
      failures.set(uid, { message, isRefused: result.result === "Forbidden", sinceMs });
    }
    Object.assign(kept, { outcome, failures });
  }

  /** A pass failed with this error: what it came to before still counts. */
  failed(namespace: string, error: unknown, message = publicMessage(error)): void {
    const kept = this.#kept(namespace);
    const sinceMs = kept.failures.get("")?.sinceMs ?? this.#nowMs();
    const failure: Failure = { message, isRefused: error instanceof ForbiddenError, sinceMs };
    kept.failures = new Map([...kept.failures, ["", failure]]);
  }

  /** Adds what this process remembers: what the API server stores, and which listed workloads are gone for a short time only. */
  remembered(facts: Facts): Facts {
    const kept = this.#kept(facts.namespace.name);
    const there = new Set(facts.candidates.map(workloadId));
    const nowMs = this.#nowMs();
    const gone = facts.objects
      .filter(isGenerated)
      .flatMap(listedIn)
      .filter(workload => !there.has(workload));
    kept.gone = new Map(gone.map(workload => [workload, kept.gone.get(workload) ?? nowMs]));
    const vanishing = gone.filter(workload => nowMs - (kept.gone.get(workload) ?? 0) < VANISHED_MS);
    return { ...facts, stored: new Map(kept.stored), vanishing: new Set(vanishing) };
  }

  /** Remembers what the API server has made of a write. @param answer the object as it stores it */
  remember({ for: uid, intent }: PlannedWrite, answer: unknown): void {
    const { spec } = objectOf(answer);
    const { state } = intent.leadsTo ?? {};
    if (state !== undefined && spec !== undefined)
      this.#kept(intent.target.namespace ?? "").stored.set(uid, { state, spec });
  }

  /** Returns the milliseconds until a namespace may be written to; 0 if it may now. @param pace absent: nothing is to be written */
  untilTurn(namespace: string, pace?: TokenBucket): number {
    const kept = this.#kept(namespace);
    const nowMs = this.#nowMs();
    const turnMs = pace && (kept.turnMs ?? nowMs + pace.reserve());
    kept.turnMs = turnMs !== undefined && turnMs > nowMs ? turnMs : undefined;
    return (kept.turnMs ?? nowMs) - nowMs;
  }

  /** Reports whether status says that passes over a namespace fail. */
  isReported(namespace: string): boolean {
    return this.#reported(this.#byNamespace.get(namespace)?.failures.get("")) !== undefined;
  }

  /** Names of the namespaces that a pass has looked at, or failed for. */
  names(): string[] {
    return [...this.#byNamespace.keys()].filter(name => name !== ALL);
  }

  /**
   * Reports whether each of these namespaces was planned for this generation of a ClusterControllerResilience, or has failed for so long
   * that it is reported.
   */
  isComplete({ uid, generation }: Planned, namespaces: readonly string[]): boolean {
    return namespaces.every(namespace => {
      const kept = this.#byNamespace.get(namespace);
      const isPlanned = kept?.outcome?.plan.shares.get(uid)?.generation === generation;
      return isPlanned || this.isReported(namespace);
    });
  }

  /** Returns what this generation of a ClusterControllerResilience finds in these namespaces, after what their list has failed with. */
  of({ uid, generation }: Planned, namespaces: readonly string[]): NamespaceResult[] {
    return [...(this.isReported(ALL) ? [ALL] : []), ...namespaces].map(namespace => {
      const kept = this.#byNamespace.get(namespace);
      const last = kept?.outcome?.plan.shares.get(uid);
      const share = last?.generation === generation ? last : undefined;
      const unread = kept?.failures.get("");
      const failure = this.#reported(unread ?? kept?.failures.get(uid));
      return { namespace, ...(share && { share }), ...(failure && { failure, isUnread: unread !== undefined }) };
    });
  }

  /** The coverage of all namespaces. */
  coverage(): Coverage {
    return totalCoverage([...this.#byNamespace.values()].flatMap(({ outcome }) => outcome?.coverage ?? []));
  }

  /** What all namespaces say of who handles which kinds. */
  handlers(): HandlerFacts[] {
    return [...this.#byNamespace.values()].flatMap(({ outcome }) => outcome?.handlers ?? []);
  }

  #kept(namespace: string): Kept {
    const kept = this.#byNamespace.get(namespace) ?? new Kept();
    this.#byNamespace.set(namespace, kept);
    return kept;
  }

  /** Returns what is reported of a failure; undefined if it may pass by itself. */
  #reported(failure: Failure | undefined): NamespaceFailure | undefined {
    if (failure === undefined) return undefined;
    const lastsMs = this.#nowMs() - failure.sinceMs;
    if (!failure.isRefused && lastsMs < REPORT_AFTER_MS) return undefined;
    return { isRefused: failure.isRefused || lastsMs >= STALLED_AFTER_MS, message: failure.message };
  }

  #nowMs(): number {
    return this.#clock.monotonicMs();
  }
}

/** What a person can do, besides what the API server or the executor says. */
const WAYS_OUT: readonly (readonly [sign: string, wayOut: string])[] = [
  ["unknown field", "upgrade the definition of ControllerResilience"],
  ["another writer ", "change the ClusterControllerResilience instead"],
];

function failureOf(outcome: Outcome): string | undefined {
  if (outcome.result !== "Forbidden" && outcome.result !== "Failed" && outcome.result !== "Blocked") return undefined;
  const { message } = outcome;
  const ways = WAYS_OUT.filter(([sign]) => message.includes(sign)).map(([, wayOut]) => `; ${wayOut}`);
  return [message, ...ways].join("");
}
