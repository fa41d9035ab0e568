import type {
  ControllerResilienceSpec,
  ControllerResilienceStatus,
  StatusCondition,
} from "../api/controller-resilience";
import type { Key } from "./ports";

// What the operator counts and measures of itself. src/telemetry exports it, and docs/metrics.md lists it.

/** Describes a metric for people, and names its labels. */
function of<L extends string>(help: string, ...labels: L[]): { readonly help: string; readonly labels: readonly L[] } {
  return { help, labels };
}

/** Every counter, without the prefix `controller_resilience_`; those of `rest_client_` and `workqueue_` have client-go's names and labels. */
export const COUNTERS = {
  reconciles_total: of(
    "Reconciliations by controller and result: success, requeue, error or panic.",
    "controller",
    "result",
  ),
  workqueue_adds_total: of("Keys added to the work queue.", "name"),
  workqueue_retries_total: of("Keys requeued with backoff after a failure.", "name"),
  intents_total: of("Writes that remedies requested, by outcome.", "remedy", "verb", "result"),
  conditions_dropped_total: of("Conditions that are not exported: too many objects."),
  lease_transitions_total: of("Changes of the Lease by event: acquired, lost or renew-failed.", "event"),
  restarts_deferred_total: of("Deferred attempts to restart a pod by limit, but for those of its workload.", "limit"),
  rest_client_requests_total: of("Requests to the API server by method and status code.", "method", "code"),
  watch_ends_total: of(
    "Ended lists and watches by reason: closed, or, followed by backoff, expired, unauthorized, forbidden, throttled, stalled, malformed or broken.",
    "resource",
    "reason",
  ),
  watch_relists_total: of("Lists that replaced a cache.", "resource"),
  log_reads_total: of("Reads of container logs by result: ok, truncated, absent, error or timeout.", "result"),
  log_read_bytes_total: of("Bytes read from container logs."),
  notifications_total: of(
    "Events posted to the receiver of notifications by result: sent, failed (it refused them) or dropped (full queue, or shutdown).",
    "result",
  ),
  events_lost_total: of("Kubernetes Events that were not recorded."),
};
/** A counter. */
export type CounterName = keyof typeof COUNTERS;

/** Every gauge that is set, without the prefix. */
export const GAUGES = {
  leader: of("1 while this process is the leader, else 0."),
  identity_rejected: of("1 if the API server last answered 401 to the operator's own credentials, else 0."),
  restart_breaker_tripped: of("1 while the restart breaker is tripped, else 0."),
  log_read_interval_seconds: of(
    "Time between two reads of a log without 401s that does not rest; above 30 s, the budget of reads is used up.",
  ),
  log_rounds: of(
    "1 for what the API servers do: refused or unknown (logs are read every 30 s), or quiet (healthy logs rest).",
    "state",
  ),
  clock_offset_seconds: of("Largest offset of an API server's clock from the operator's in the last five minutes."),
  workloads: of(
    "Workloads that use the Kubernetes API, by protection (protected, excluded or unprotected) and reason.",
    "protection",
    "reason",
  ),
};
/** A gauge that is set. */
export type GaugeName = keyof typeof GAUGES;

/** One series of a gauge. */
export interface GaugeSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Takes what any part of the operator counts or measures. */
export interface Measures {
  /** Adds to a counter. @param by 1 by default */
  count<N extends CounterName>(
    name: N,
    labels: Readonly<Record<(typeof COUNTERS)[N]["labels"][number], string>>,
    by?: number,
  ): void;
  /** Replaces what a gauge shows: its value, or its series. */
  show(name: GaugeName, value: number | readonly GaugeSample[]): void;
}

/** What the caches need. */
export interface CacheMetrics extends Measures {
  /** Takes what is asked for at each export: since when a cache is not confirmed, or null. The oldest cache of each resource counts. */
  watchAge(resource: string, ageMs: () => number | null): void;
}

/** What the engine needs. */
export interface EngineMetrics extends Measures {
  /** Metrics of a loop, by the kind of its objects in lower case. */
  loop(controller: string): LoopMetrics;
  /** Replaces the conditions of a ControllerResilience, or of a ClusterControllerResilience, whose key has no namespace. */
  conditions(key: Key, conditions: readonly ConditionState[]): void;
  /** Replaces the series of an object in all gauges of the remedies. null removes them. */
  status(key: Key, object: StatusOwner | null): void;
}

/** A condition as metrics show it. */
export type ConditionState = Pick<StatusCondition, "type" | "status" | "reason">;

/** An object as its gauges see it. */
export interface StatusOwner {
  readonly spec: ControllerResilienceSpec;
  readonly status: ControllerResilienceStatus;
}

/** What a work queue is asked for at each export of the metrics. */
export interface QueueState {
  /** Keys that wait. */
  readonly depth: number;
  /** Seconds that each key in work has been worked on. */
  readonly workingSeconds: readonly number[];
}

/** What one reconcile loop measures; of its work queue, what client-go's workqueue does. */
export interface LoopMetrics {
  /** A key that did not wait yet was added. */
  added(): void;
  /** A worker took a key that had waited for this long. */
  taken(waitedSeconds: number): void;
  /** A worker has worked on a key for this long. */
  done(workedSeconds: number): void;
  /** A failed key is tried again, with backoff. */
  retried(): void;
  /** Says where to ask for the state of the queue. */
  ofQueue(state: () => QueueState): void;
  /** A pass has ended. */
  reconciled(result: "success" | "requeue" | "error" | "panic", seconds: number): void;
}
