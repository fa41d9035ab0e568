import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { BindingStatus, FlowStatus } from "../api/controller-resilience";
import { splitKey } from "../core/key";
import type { Clock } from "../core/clock";
import type { ClusterMetrics, EngineMetrics, Key } from "../core/ports";
import { yieldToEventLoop } from "../core/slices";
import { ShardedGauge } from "./sharded-gauge";

/** Objects whose conditions are exported; beyond it new ones are left out and counted, so that no user can flood Prometheus. */
const MAX_OBJECTS = 2_000;

/** Bindings of one object whose expiry is exported, the next to expire first; and of all objects together. */
const MAX_BINDINGS = 500;
const MAX_ALL_BINDINGS = 2_000;

/** Flows of one object whose rate is exported; and of all objects together. */
const MAX_FLOWS = 500;
const MAX_ALL_FLOWS = 2_000;

type BindingLabels = Record<"namespace" | "name" | "binding_kind" | "binding", string>;
type FlowLabels = Record<"namespace" | "service_account", string>;

/** From 5 ms to a minute: a pass reads logs, each of which may take up to 10 s. */
const RECONCILE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** How the metrics behave. */
export interface MetricsOptions {
  /** Also export Node's own metrics (`process_*`, `nodejs_*`). */
  readonly processMetrics?: boolean;
  /** Most objects with conditions; {@link MAX_OBJECTS} by default. */
  readonly maxObjects?: number;
  /** Others have their turn between two metrics, some of which have thousands of series; absent: they are written down at once. */
  readonly clock?: Clock;
}

/** All metrics of the operator, in a registry of their own. Every name begins with `controller_resilience_`. */
export class Metrics implements EngineMetrics, ClusterMetrics {
  readonly #registry = new Registry();
  readonly #maxObjects: number;
  readonly #clock: Clock | undefined;
  /** Per object and condition type the status that is exported now. */
  readonly #conditions = new Map<Key, Map<string, string>>();
  readonly #reconciles = this.#counter("reconciles_total", "Reconciliations by result.", "result");
  readonly #reconcileSeconds = this.#histogram("reconcile_duration_seconds", "Duration of one reconciliation.");
  readonly #queueDepth = this.#gauge("queue_depth", "Keys in the work queue by state: waiting or delayed.", "state");
  readonly #intents = this.#counter(
    "intents_total",
    "Writes that remedies asked for, by what became of them.",
    "remedy",
    "verb",
    "result",
  );
  readonly #condition = new ShardedGauge({
    name: "controller_resilience_condition",
    help: "Conditions of each ControllerResilience: 1 on the series of the present status.",
    labelNames: ["namespace", "name", "type", "status"],
  });
  readonly #conditionsDropped = this.#counter("conditions_dropped_total", "Conditions left out: too many objects.");
  /** Per object the bindings whose expiry is exported now. */
  readonly #expiries = new Map<Key, BindingLabels[]>();
  readonly #bindingExpiry = this.#gauge(
    "binding_expiry_timestamp_seconds",
    "When a binding under renewal expires, in seconds since the epoch.",
    "namespace",
    "name",
    "binding_kind",
    "binding",
  );
  /** Per object the ServiceAccounts whose rate is exported now. */
  readonly #flows = new Map<Key, ReadonlySet<string>>();
  readonly #requestRate = this.#gauge(
    "service_account_requests_per_second",
    "Requests of an isolated ServiceAccount, as measured last.",
    "namespace",
    "service_account",
  );
  readonly #leader = this.#gauge("leader", "1 while this process leads, else 0.");
  readonly #leaseTransitions = this.#counter("lease_transitions_total", "What happened to the Lease.", "event");
  readonly #watchEnds = this.#counter(
    "watch_ends_total",
    "Lists and watches that ended, by reason; all but closed were followed by backoff.",
    "resource",
    "reason",
  );
  readonly #relists = this.#counter("watch_relists_total", "Complete lists that filled a cache.", "resource");
  readonly #watchAge = this.#gauge(
    "watch_age_seconds",
    "Time since the server last confirmed the oldest cache of that resource.",
    "resource",
  );
  readonly #logReads = this.#counter("log_reads_total", "Reads of container logs by result.", "result");
  readonly #logBytes = this.#counter("log_read_bytes_total", "Bytes of container logs that were read.");
  readonly #clockOffset = this.#gauge(
    "clock_offset_seconds",
    "How far the API server's clock is ahead of this machine's, as its answers say; negative when it is behind.",
  );
  readonly #eventsLost = this.#counter("events_lost_total", "Kubernetes Events that could not be recorded.");

  constructor(options: MetricsOptions = {}) {
    this.#maxObjects = options.maxObjects ?? MAX_OBJECTS;
    this.#clock = options.clock;
    if (options.processMetrics === true) collectDefaultMetrics({ register: this.#registry });
    this.#leader.set(0);
  }

  /** The exposition format of Prometheus. */
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

  /** See {@link EngineMetrics.reconciled}. */
  reconciled(result: "success" | "requeue" | "error" | "panic", seconds: number): void {
    this.#reconciles.inc({ result });
    this.#reconcileSeconds.observe(seconds);
  }

  /** See {@link EngineMetrics.queueDepth}. */
  queueDepth(waiting: number, delayed: number): void {
    this.#queueDepth.set({ state: "waiting" }, waiting);
    this.#queueDepth.set({ state: "delayed" }, delayed);
  }

  /** See {@link EngineMetrics.intent}. */
  intent(remedy: string, verb: string, result: string): void {
    this.#intents.inc({ remedy, verb, result });
  }

  /** See {@link EngineMetrics.condition}. A status of null takes the series away. */
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

  /** See {@link EngineMetrics.bindings}. */
  bindings(key: Key, bindings: readonly BindingStatus[]): void {
    for (const labels of this.#expiries.get(key) ?? []) this.#bindingExpiry.remove(labels);
    this.#expiries.delete(key);
    const { namespace, name } = splitKey(key);
    const room = Math.min(MAX_BINDINGS, MAX_ALL_BINDINGS - sum(this.#expiries.values(), ({ length }) => length));
    const expiring = bindings.slice(0, room).flatMap(({ kind, name: binding, expiryTime, state }) => {
      const seconds = Date.parse(expiryTime ?? "") / 1000;
      // What is gone expires no more, and nobody should be woken for it.
      if (Number.isNaN(seconds) || state === "Revoked" || state === "Expired") return [];
      const labels = { namespace, name, binding_kind: kind, binding };
      this.#bindingExpiry.set(labels, seconds);
      return [labels];
    });
    if (expiring.length > 0) this.#expiries.set(key, expiring);
  }

  /** See {@link EngineMetrics.flows}. A series that another object of the namespace tells of, too, goes with the last of them. */
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

  /** See {@link EngineMetrics.leader}. */
  leader(leading: boolean): void {
    this.#leader.set(leading ? 1 : 0);
  }

  /** See {@link EngineMetrics.leaseTransition}. */
  leaseTransition(what: "acquired" | "lost" | "renew-failed"): void {
    this.#leaseTransitions.inc({ event: what });
  }

  /** See {@link ClusterMetrics.watchEnded}. */
  watchEnded(resource: string, reason: string): void {
    this.#watchEnds.inc({ resource, reason });
  }

  /** See {@link ClusterMetrics.relisted}. */
  relisted(resource: string): void {
    this.#relists.inc({ resource });
  }

  /** See {@link ClusterMetrics.watchAge}. */
  watchAge(resource: string, seconds: number): void {
    this.#watchAge.set({ resource }, seconds);
  }

  /** See {@link ClusterMetrics.logRead}. */
  logRead(result: "ok" | "truncated" | "absent" | "error" | "timeout", bytes: number): void {
    this.#logReads.inc({ result });
    this.#logBytes.inc(bytes);
  }

  /** See {@link ClusterMetrics.eventLost}. */
  eventLost(): void {
    this.#eventsLost.inc();
  }

  /** How far the API server's clock is ahead of this machine's, in seconds. */
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

  /** Null when the object is one too many. */
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

function sum<T>(all: Iterable<T>, of: (one: T) => number): number {
  let total = 0;
  for (const one of all) total += of(one);
  return total;
}

function flowLabels(key: Key, serviceAccount: string): FlowLabels {
  return { namespace: splitKey(key).namespace, service_account: serviceAccount };
}
