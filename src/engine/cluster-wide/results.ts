import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { HandlerFacts } from "../../core/cluster-wide";
import { ForbiddenError, publicMessage } from "../../core/errors";
import type { Outcome } from "../../core/intent";
import type { WriteOutcome } from "./ports";
import { type Coverage, totalCoverage } from "./coverage";
import type { NamespacePlan } from "./plan";
import type { NamespaceFailure, NamespaceResult } from "./report";

/** A failure that lasts this long is reported: most pass by themselves. */
const REPORT_AFTER_MS = 60_000;

/** A failure that lasts this long needs a person. */
const STALLED_AFTER_MS = 600_000;

/** The result of one pass over a namespace. */
export interface NamespaceOutcome {
  readonly plan: NamespacePlan;
  readonly coverage: Coverage;
  readonly handlers: HandlerFacts;
  readonly outcomes: readonly WriteOutcome[];
}

interface Kept {
  readonly outcome?: NamespaceOutcome;
  /** By uid of the ClusterControllerResilience; with an empty one for all. */
  readonly failures: ReadonlyMap<string, Failure>;
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

/** What the last pass over each namespace came to, and the last list of them. */
export class Results {
  readonly #byNamespace = new Map<string, Kept>();

  clear(): void {
    this.#byNamespace.clear();
  }

  forget(namespace: string): void {
    this.#byNamespace.delete(namespace);
  }

  set(namespace: string, outcome: NamespaceOutcome, nowMs: number): void {
    const before = this.#byNamespace.get(namespace)?.failures;
    const failures = new Map<string, Failure>();
    for (const { write, outcome: result } of outcome.outcomes) {
      const message = failureOf(result);
      if (message === undefined || failures.has(write.for)) continue;
      const sinceMs = before?.get(write.for)?.sinceMs ?? nowMs;
      failures.set(write.for, { message, isRefused: result.result === "Forbidden", sinceMs });
    }
    this.#byNamespace.set(namespace, { outcome, failures });
  }

  /** A pass failed with this error: what it came to before still counts. */
  failed(namespace: string, error: unknown, nowMs: number, message = publicMessage(error)): void {
    const before = this.#byNamespace.get(namespace);
    const sinceMs = before?.failures.get("")?.sinceMs ?? nowMs;
    const failure: Failure = { message, isRefused: error instanceof ForbiddenError, sinceMs };
    this.#byNamespace.set(namespace, { ...before, failures: new Map([...(before?.failures ?? []), ["", failure]]) });
  }

  /** Reports whether status says that passes over a namespace fail. */
  isReported(namespace: string, nowMs: number): boolean {
    return reported(this.#byNamespace.get(namespace)?.failures.get(""), nowMs) !== undefined;
  }

  /** Names of the namespaces that a pass has looked at, or failed for. */
  names(): string[] {
    return [...this.#byNamespace.keys()].filter(name => name !== ALL);
  }

  /**
   * Reports whether each of these namespaces was planned for this generation of a ClusterControllerResilience, or has failed for so long
   * that it is reported.
   */
  isComplete({ uid, generation }: Planned, namespaces: readonly string[], nowMs: number): boolean {
    return namespaces.every(namespace => {
      const kept = this.#byNamespace.get(namespace);
      const isPlanned = kept?.outcome?.plan.shares.get(uid)?.generation === generation;
      return isPlanned || this.isReported(namespace, nowMs);
    });
  }

  /** Returns what this generation of a ClusterControllerResilience finds in these namespaces, after what their list has failed with. */
  of({ uid, generation }: Planned, namespaces: readonly string[], nowMs: number): NamespaceResult[] {
    return [...(this.isReported(ALL, nowMs) ? [ALL] : []), ...namespaces].map(namespace => {
      const kept = this.#byNamespace.get(namespace);
      const last = kept?.outcome?.plan.shares.get(uid);
      const share = last?.generation === generation ? last : undefined;
      const unread = kept?.failures.get("");
      const failure = reported(unread ?? kept?.failures.get(uid), nowMs);
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
}

function failureOf(outcome: Outcome): string | undefined {
  if (outcome.result !== "Forbidden" && outcome.result !== "Failed" && outcome.result !== "Blocked") return undefined;
  const isOlder = outcome.message.includes("unknown field");
  return `${outcome.message}${isOlder ? "; upgrade the definition of ControllerResilience" : ""}`;
}

/** Returns what is reported of a failure; undefined if it may pass by itself. */
function reported(failure: Failure | undefined, nowMs: number): NamespaceFailure | undefined {
  if (failure === undefined) return undefined;
  const lastsMs = nowMs - failure.sinceMs;
  if (!failure.isRefused && lastsMs < REPORT_AFTER_MS) return undefined;
  return { isRefused: failure.isRefused || lastsMs >= STALLED_AFTER_MS, message: failure.message };
}
