import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import { ForbiddenError, publicMessage } from "../../core/errors";
import type { Execution, Intent, Outcome } from "../../core/intent";
import { objectOf } from "../../core/json";
import { workloadId } from "../../core/text";
import type { Clock, TokenBucket } from "../../core/time";
import type { WorkloadProtection } from "./coverage";
import type { Facts, Stored } from "./facts";
import { isGenerated, listedIn, type PlannedWrite } from "./generated";
import type { NamespacePlan, NamespaceShare } from "./plan";

/** A failure that lasts this long is reported: most pass by themselves. */
const REPORT_AFTER_MS = 60_000;

/** A failure that lasts this long needs a person. */
const STALLED_AFTER_MS = 600_000;

/** A workload that is gone for less than this may be replaced just now: its object, with budgets and remembered bindings, stays. */
const VANISHED_MS = 600_000;

/** The result of one pass over a namespace. */
export interface NamespaceOutcome extends Pick<NamespacePlan, "shares"> {
  readonly protections: readonly WorkloadProtection[];
  /** Kinds that a `stallDetection` follows. */
  readonly followed: readonly string[];
}

/** A write and its outcome. */
export type WriteOutcome = PlannedWrite & Execution;

/** What stopped the work for one ClusterControllerResilience in one namespace. */
export interface NamespaceFailure {
  readonly message: string;
  /** The API server refuses a write, or fails for long, so a person has to act; else it is tried again. */
  readonly isRefused: boolean;
  /** The namespace could not be looked at now; else a write failed. */
  readonly isUnread?: boolean;
}

/** What one ClusterControllerResilience amounts to in one namespace. */
export interface NamespaceResult {
  readonly namespace: string;
  readonly share?: NamespaceShare | undefined;
  readonly failure?: NamespaceFailure | undefined;
}

/** What is known of one namespace. */
class Kept {
  last?: NamespaceOutcome;
  /** By uid of the ClusterControllerResilience; {@link UNREAD} for all. */
  failures: ReadonlyMap<string, NamespaceFailure & { readonly sinceMs: number }> = new Map();
  /** When listed workloads were first found to be gone. */
  gone: ReadonlyMap<string, number> = new Map();
  /** See {@link Facts}. */
  readonly stored = new Map<string, Stored>();
  /** When it may be written to. Absent: it waits for no turn. */
  turnMs: number | undefined;
}

const UNREAD = "";

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

  /** @param writes absent: they wait for the namespace's turn, so those that failed before still count */
  set(namespace: string, last: NamespaceOutcome, writes?: readonly WriteOutcome[]): void {
    const kept = this.#kept(namespace);
    const failures = new Map(writes === undefined ? kept.failures : []);
    failures.delete(UNREAD);
    for (const { for: uid, outcome } of writes ?? []) {
      const message = failureOf(outcome);
      if (message === undefined || failures.has(uid)) continue;
      const sinceMs = kept.failures.get(uid)?.sinceMs ?? this.#nowMs();
      failures.set(uid, { message, isRefused: outcome.result === "Forbidden", sinceMs });
    }
    Object.assign(kept, { last, failures });
  }

  /** A pass failed with this error: what it came to before still counts. */
  failed(namespace: string, error: unknown, message = publicMessage(error)): void {
    const kept = this.#kept(namespace);
    const sinceMs = kept.failures.get(UNREAD)?.sinceMs ?? this.#nowMs();
    const failure = { message, isRefused: error instanceof ForbiddenError, isUnread: true, sinceMs };
    kept.failures = new Map([...kept.failures, [UNREAD, failure]]);
  }

  /** Adds what this process remembers: what the API server stores, and which listed workloads are gone for a short time only. */
  remembered(facts: Facts): Facts {
    const kept = this.#kept(facts.namespace.name);
    const there = new Set(facts.candidates.map(workloadId));
    const nowMs = this.#nowMs();
    const listed = facts.objects.filter(isGenerated).flatMap(listedIn);
    const gone = listed.filter(workload => !there.has(workload));
    kept.gone = new Map(gone.map(workload => [workload, kept.gone.get(workload) ?? nowMs]));
    const vanishing = gone.filter(workload => nowMs - (kept.gone.get(workload) ?? 0) < VANISHED_MS);
    return { ...facts, stored: new Map(kept.stored), vanishing: new Set(vanishing) };
  }

  /** Remembers what the API server has made of a write. @param answer the object as it stores it */
  remember({ target, leadsTo }: Intent, answer: unknown): void {
    const { spec } = objectOf(answer);
    if (leadsTo !== undefined && spec !== undefined)
      this.#kept(target.namespace ?? "").stored.set(leadsTo.of, { state: leadsTo.state, spec });
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
    return this.#reported(namespace, UNREAD) !== undefined;
  }

  /** Names of the namespaces that a pass has looked at, or failed for. */
  names(): string[] {
    return [...this.#byNamespace.keys()].filter(name => name !== ALL);
  }

  /**
   * Reports whether each of these namespaces was planned for this generation of a ClusterControllerResilience, or has failed for so long
   * that it is reported.
   */
  isComplete(owner: Planned, namespaces: readonly string[]): boolean {
    return namespaces.every(namespace => this.#shareOf(owner, namespace) !== undefined || this.isReported(namespace));
  }

  /** Returns what this generation of a ClusterControllerResilience finds in these namespaces, after what their list has failed with. */
  of(owner: Planned, namespaces: readonly string[]): NamespaceResult[] {
    return [...(this.isReported(ALL) ? [ALL] : []), ...namespaces].map(namespace => {
      const key = this.#byNamespace.get(namespace)?.failures.has(UNREAD) === true ? UNREAD : owner.uid;
      return { namespace, share: this.#shareOf(owner, namespace), failure: this.#reported(namespace, key) };
    });
  }

  /** What the last passes over all namespaces came to. */
  outcomes(): NamespaceOutcome[] {
    return [...this.#byNamespace.values()].flatMap(({ last }) => last ?? []);
  }

  #shareOf({ uid, generation }: Planned, namespace: string): NamespaceShare | undefined {
    const share = this.#byNamespace.get(namespace)?.last?.shares.get(uid);
    return share?.generation === generation ? share : undefined;
  }

  #kept(namespace: string): Kept {
    const kept = this.#byNamespace.get(namespace) ?? new Kept();
    this.#byNamespace.set(namespace, kept);
    return kept;
  }

  /** Returns what is reported of a failure; undefined if there is none, or if it may pass by itself. */
  #reported(namespace: string, key: string): NamespaceFailure | undefined {
    const failure = this.#byNamespace.get(namespace)?.failures.get(key);
    if (failure === undefined) return undefined;
    const lastsMs = this.#nowMs() - failure.sinceMs;
    if (!failure.isRefused && lastsMs < REPORT_AFTER_MS) return undefined;
    return { ...failure, isRefused: failure.isRefused || lastsMs >= STALLED_AFTER_MS };
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
