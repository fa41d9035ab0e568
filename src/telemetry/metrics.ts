import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { BindingStatus, FlowStatus } from "../api/controller-resilience";
import { splitKey } from "../core/key";
import type { Clock } from "../core/clock";
import type { LimitReason } from "../core/intent";
import type { ClusterMetrics, EngineMetrics, Key } from "../core/ports";
import { yieldToEventLoop } from "../core/slices";
import { ShardedGauge } from "./sharded-gauge";

/** Most objects with exported conditions, so that no user floods Prometheus; further objects are counted as dropped. */
const MAX_OBJECTS = 2_000;

/** Most bindings with an exported expiry, the next to expire first: per object, and of all objects. */
const MAX_BINDINGS = 500;
const MAX_ALL_BINDINGS = 2_000;

/** Most flows with an exported rate: per object, and of all objects. */
const MAX_FLOWS = 500;
const MAX_ALL_FLOWS = 2_000;

type BindingLabels = Record<"namespace" | "name" | "binding_kind" | "binding", string>;
type FlowLabels = Record<"namespace" | "service_account", string>;

/** From 5 ms to a minute: a pass reads logs, each in up to 10 s. */
const RECONCILE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

export interface MetricsOptions {
  /** Also exports Node's own metrics (`process_*`, `nodejs_*`). */
  readonly processMetrics?: boolean;
  readonly maxObjects?: number;
  /** With a clock, the export yields to the event loop between two metrics, since some have thousands of series. */
  readonly clock?: Clock;
}

/** All metrics of the operator, in a separate registry. Every name begins with `controller_resilience_`. */
export class Metrics implements EngineMetrics, ClusterMetrics {
  readonly #registry = new Registry();
  readonly #maxObjects: number;
  readonly #clock: Clock | undefined;
  /** Exported status by object and condition type. */
  readonly #conditions = new Map<Key, Map<string, string>>();
  readonly #reconciles = this.#counter("reconciles_total", "Reconciliations by result.", "result");
  readonly #reconcileSeconds = this.#histogram("reconcile_duration_seconds", "Duration of one reconciliation.");
  readonly #queueDepth = this.#gauge("queue_depth", "Keys in the work queue by state: waiting or delayed.", "state");
  readonly #intents = this.#counter(
    "intents_total",
    "Writes that remedies requested, by outcome.",
    "remedy",
    "verb",
    "result",
  );
  readonly #condition = new ShardedGauge({
    name: "controller_resilience_condition",
    help: "Conditions of each ControllerResilience: 1 for the current status.",
    labelNames: ["namespace", "name", "type", "status"],
  });
  readonly #conditionsDropped = this.#counter(
    "conditions_dropped_total",
    "Conditions that are not exported because of too many objects.",
  );
  /** Bindings with an exported expiry, by object. */
  readonly #expiries = new Map<Key, BindingLabels[]>();
  readonly #bindingExpiry = this.#gauge(
    "binding_expiry_timestamp_seconds",
    "When a binding under renewal expires, in seconds since the epoch.",
    "namespace",
    "name",
    "binding_kind",
    "binding",
  );
  /** ServiceAccounts with an exported rate, by object. */
  readonly #flows = new Map<Key, ReadonlySet<string>>();
  readonly #requestRate = this.#gauge(
    "service_account_requests_per_second",
    "Last measured request rate of an isolated ServiceAccount.",
    "namespace",
    "service_account",
  );
  readonly #leader = this.#gauge("leader", "1 while this process is the leader, else 0.");
  readonly #leaseTransitions = this.#counter("lease_transitions_total", "Changes of the Lease by event.", "event");
  readonly #restartsDeferred = this.#counter(
    "restarts_deferred_total",
    "Deferred attempts to restart a pod by limit.",
    "limit",
  );
  readonly #breakerTripped = this.#gauge("restart_breaker_tripped", "1 while the restart breaker is tripped, else 0.");
  readonly #watchEnds = this.#counter(
    "watch_ends_total",
    "Ended lists and watches by reason; backoff follows all reasons except closed.",
    "resource",
    "reason",
  );
  readonly #relists = this.#counter("watch_relists_total", "Lists that replaced a cache.", "resource");
  readonly #watchAge = this.#gauge(
    "watch_age_seconds",
    "Time since the API server last confirmed the oldest cache of the resource.",
    "resource",
  );
  readonly #logReads = this.#counter("log_reads_total", "Reads of container logs by result.", "result");
  readonly #logBytes = this.#counter("log_read_bytes_total", "Bytes read from container logs.");
  readonly #clockOffset = this.#gauge(
    "clock_offset_seconds",
    "Offset of the API server's clock from the local clock, according to its responses.",
  );
  readonly #eventsLost = this.#counter("events_lost_total", "Kubernetes Events that were not recorded.");

  constructor(options: MetricsOptions = {}) {
    this.#maxObjects = options.maxObjects ?? MAX_OBJECTS;
    this.#clock = options.clock;
    if (options.processMetrics === true) collectDefaultMetrics({ register: this.#registry });
    this.#leader.set(0);
    this.#breakerTripped.set(0);
  }

  /** Returns the metrics in the Prometheus exposition format. */
  async text(): Promise<string> {
    const parts: string[] = [];
    for (const metric of this.#registry.getMetricsAsArray()) {
      parts.push(await this.#registry.getSingleMetricAsString(metric.name));
      await this.#yieldToEventLoop();
    }
    for await (const part of this.#condition.parts()) {
      parts.push(part);
      await this.#yieldToEventLoop();
    }
    return `${parts.join("\n")}\n`;
  }

  reconciled(result: "success" | "requeue" | "error" | "panic", seconds: number): void {
    this.#reconciles.inc({ result });
    this.#reconcileSeconds.observe(seconds);
  }

  queueDepth(waiting: number, delayed: number): void {
    this.#queueDepth.set({ state: "waiting" }, waiting);
    this.#queueDepth.set({ state: "delayed" }, delayed);
  }

  intent(remedy: string, verb: string, result: string): void {
    this.#intents.inc({ remedy, verb, result });
  }

  /** A status of null removes the series. */
  condition(key: Key, type: string, status: string | null): void {
    const { namespace, name } = splitKey(key);
    const types = this.#typesOf(key, status);
    if (types === null) return;
    const before = types.get(type);
    const series = this.#condition.of(key);
    if (before !== undefined && before !== status) series.remove({ namespace, name, type, status: before });
    if (status === null) types.delete(type);
    else {
      types.set(type, status);
      series.set({ namespace, name, type, status }, 1);
    }
    if (types.size === 0) this.#conditions.delete(key);
  }

  bindings(key: Key, bindings: readonly BindingStatus[]): void {
    for (const labels of this.#expiries.get(key) ?? []) this.#bindingExpiry.remove(labels);
    this.#expiries.delete(key);
    const { namespace, name } = splitKey(key);
    const room = Math.min(MAX_BINDINGS, MAX_ALL_BINDINGS - sum(this.#expiries.values(), ({ length }) => length));
    const expiring = bindings.slice(0, room).flatMap(({ kind, name: binding, expiryTime, state }) => {
      const seconds = Date.parse(expiryTime ?? "") / 1000;
      // No alert for a binding that is already gone.
      if (Number.isNaN(seconds) || state === "Revoked" || state === "Expired") return [];
      const labels = { namespace, name, binding_kind: kind, binding };
      this.#bindingExpiry.set(labels, seconds);
      return [labels];
    });
    if (expiring.length > 0) this.#expiries.set(key, expiring);
  }

  /** A series that several objects of a namespace share is removed with the last of them. */
  flows(key: Key, flows: readonly FlowStatus[]): void {
    const before = this.#flows.get(key) ?? new Set();
    const room = MAX_ALL_FLOWS - sum(this.#flows.values(), ({ size }) => size) + before.size;
    const measured = new Set<string>();
    for (const { serviceAccount, requestsPerSecond } of flows.slice(0, Math.min(MAX_FLOWS, room))) {
      if (requestsPerSecond === undefined) continue;
      this.#requestRate.set(flowLabels(key, serviceAccount), requestsPerSecond);
      measured.add(serviceAccount);
    }
    if (measured.size === 0) this.#flows.delete(key);
    else this.#flows.set(key, measured);
    for (const serviceAccount of before) if (!measured.has(serviceAccount)) this.#endFlow(key, serviceAccount);
  }

  leader(leading: boolean): void {
    this.#leader.set(leading ? 1 : 0);
  }

  leaseTransition(what: "acquired" | "lost" | "renew-failed"): void {
    this.#leaseTransitions.inc({ event: what });
  }

  restartDeferred(limit: LimitReason): void {
    this.#restartsDeferred.inc({ limit });
  }

  breakerTripped(tripped: boolean): void {
    this.#breakerTripped.set(tripped ? 1 : 0);
  }

  watchEnded(resource: string, reason: string): void {
    this.#watchEnds.inc({ resource, reason });
  }

  relisted(resource: string): void {
    this.#relists.inc({ resource });
  }

  watchAge(resource: string, seconds: number): void {
    this.#watchAge.set({ resource }, seconds);
  }

  logRead(result: "ok" | "truncated" | "absent" | "error" | "timeout", bytes: number): void {
    this.#logReads.inc({ result });
    this.#logBytes.inc(bytes);
  }

  eventLost(): void {
    this.#eventsLost.inc();
  }

  /** Takes how far the API server's clock is ahead of the local clock. */
  clockOffset(seconds: number): void {
    this.#clockOffset.set(seconds);
  }

  async #yieldToEventLoop(): Promise<void> {
    if (this.#clock !== undefined) await yieldToEventLoop(this.#clock);
  }

  #endFlow(key: Key, serviceAccount: string): void {
    const labels = flowLabels(key, serviceAccount);
    for (const [other, measured] of this.#flows)
      if (measured.has(serviceAccount) && flowLabels(other, serviceAccount).namespace === labels.namespace) return;
    this.#requestRate.remove(labels);
  }

  /** Returns null for an object above the maximum. */
  #typesOf(key: Key, status: string | null): Map<string, string> | null {
    const known = this.#conditions.get(key);
    if (known !== undefined) return known;
    if (status === null) return null;
    if (this.#conditions.size >= this.#maxObjects) {
      this.#conditionsDropped.inc();
      return null;
    }
    const types = new Map<string, string>();
    this.#conditions.set(key, types);
    return types;
  }

  #counter<L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ name: `controller_resilience_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #gauge<L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> {
    return new Gauge({ name: `controller_resilience_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string): Histogram {
    const registers = [this.#registry];
    return new Histogram({ name: `controller_resilience_${name}`, help, buckets: RECONCILE_BUCKETS, registers });
  }
}

function sum<T>(all: Iterable<T>, size: (item: T) => number): number {
  let total = 0;
  for (const item of all) total += size(item);
  return total;
}

function flowLabels(key: Key, serviceAccount: string): FlowLabels {
  return { namespace: splitKey(key).namespace, service_account: serviceAccount };
}
