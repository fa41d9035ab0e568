import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { CLUSTER_KIND, KIND } from "../api/names";
import { splitKey } from "../core/text";
import type { Clock } from "../core/time";
import type { ClusterWideMetrics, CoverageCount } from "../core/cluster-wide";
import type { LimitReason } from "../core/intent";
import type {
  CacheAge,
  ClusterMetrics,
  ConditionState,
  EngineMetrics,
  IdentityMetrics,
  Key,
  LoopMetrics,
  NotificationMetrics,
  RequestMetrics,
  StatusOwner,
} from "../core/ports";
import type { StatusGauge } from "../core/remedy";
import { yieldToEventLoop } from "../core/slices";
import { StatusGauges, LoopMetricsSet } from "./gauges";

/** Most objects with exported conditions, so that no user floods Prometheus; further objects are counted as dropped. */
const MAX_OBJECTS = 2_000;

/** Gauges of prom-client that are named like counters. `nodejs_active_resources` has the same numbers. */
const MISNAMED = ["nodejs_active_resources_total", "nodejs_active_handles_total", "nodejs_active_requests_total"];

/** What is known of a metric without its samples. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

const CONDITION: MetricFamily = {
  name: "controller_resilience_condition",
  help: "Conditions of each object, with their status and reason: always 1.",
  type: "gauge",
  labelNames: ["kind", "namespace", "name", "type", "status", "reason"],
};

/** Time between two samples of the event loop's lag. With the default of 10 ms, 100 timers per second take 0.6 % of a core. */
const LAG_SAMPLE_MS = 200;

export interface MetricsOptions {
  /** Also exports Node's own metrics (`process_*`, `nodejs_*`). */
  readonly processMetrics?: boolean;
  readonly maxObjects?: number;
  /** What the remedies declare. */
  readonly gauges?: readonly StatusGauge[];
  /** With a clock, the export yields to the event loop between two metrics, since some have thousands of series. */
  readonly clock?: Clock;
}

/**
 * All metrics of the operator, in a separate registry. Names begin with `controller_resilience_`; where client-go has a name for the same, as for
 * work queues and requests, they have that one.
 */
export class Metrics
  implements EngineMetrics, ClusterMetrics, ClusterWideMetrics, IdentityMetrics, RequestMetrics, NotificationMetrics
{
  readonly #registry = new Registry();
  readonly #maxObjects: number;
  readonly #clock: Clock | undefined;
  /** The series of conditions by object, formatted: prom-client takes 30 to 115 ms for 10,000 of them (2,000 objects), in one piece. */
  readonly #conditions = new Map<Key, string>();
  readonly #loops = new LoopMetricsSet(this.#registry);
  readonly #intents = this.#counter(
    "intents_total",
    "Writes that remedies requested, by outcome.",
    "remedy",
    "verb",
    "result",
  );
  readonly #conditionsDropped = this.#counter(
    "conditions_dropped_total",
    "Conditions that are not exported because of too many objects.",
  );
  readonly #statusGauges: StatusGauges;
  readonly #leader = this.#gauge("leader", "1 while this process is the leader, else 0.");
  readonly #leaseTransitions = this.#counter("lease_transitions_total", "Changes of the Lease by event.", "event");
  readonly #restartsDeferred = this.#counter(
    "restarts_deferred_total",
    "Deferred attempts to restart a pod by limit.",
    "limit",
  );
  readonly #identityRejected = this.#gauge(
    "identity_rejected",
    "1 if the API server last answered 401 to the operator's own credentials, else 0.",
  );
  readonly #requests = new Counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server by method and status code.",
    labelNames: ["method", "code"],
    registers: [this.#registry],
  });
  readonly #breakerTripped = this.#gauge("restart_breaker_tripped", "1 while the restart breaker is tripped, else 0.");
  readonly #watchEnds = this.#counter(
    "watch_ends_total",
    "Ended lists and watches by reason; backoff follows all reasons except closed.",
    "resource",
    "reason",
  );
  readonly #relists = this.#counter("watch_relists_total", "Lists that replaced a cache.", "resource");
  readonly #cacheAges: (() => readonly CacheAge[])[] = [];
  readonly #logReads = this.#counter("log_reads_total", "Reads of container logs by result.", "result");
  readonly #logBytes = this.#counter("log_read_bytes_total", "Bytes read from container logs.");
  readonly #logInterval = this.#gauge(
    "log_read_interval_seconds",
    "Time between two reads of a log without 401s that does not rest; above 30 s, the budget of reads is used up.",
  );
  readonly #logRounds = this.#gauge(
    "log_rounds",
    "1 for what the API servers do: refused or unknown (logs are read every 30 s), or quiet (healthy logs every 5 minutes).",
    "state",
  );
  readonly #clockOffset = this.#gauge(
    "clock_offset_seconds",
    "Largest offset of an API server's clock from the operator's in the last five minutes.",
  );
  readonly #workloads = this.#gauge(
    "workloads",
    "Workloads that use the Kubernetes API, by protection (protected, excluded or unprotected) and reason.",
    "protection",
    "reason",
  );
  readonly #notifications = this.#counter(
    "notifications_total",
    "Events posted to the receiver of notifications by result: sent, failed (it refused them) or dropped (full queue, or shutdown).",
    "result",
  );
  readonly #eventsLost = this.#counter("events_lost_total", "Kubernetes Events that were not recorded.");

  constructor(options: MetricsOptions = {}) {
    this.#maxObjects = options.maxObjects ?? MAX_OBJECTS;
    this.#clock = options.clock;
    this.#statusGauges = new StatusGauges(options.gauges ?? [], this.#registry);
    this.#measureCaches();
    if (options.processMetrics === true) this.#collectProcessMetrics();
    this.#leader.set(0);
    this.#identityRejected.set(0);
    this.#breakerTripped.set(0);
  }

  /** Returns every metric in the order of {@link text}. */
  families(): MetricFamily[] {
    const metrics = this.#registry.getMetricsAsArray() as unknown as readonly MetricFamily[];
    const families = metrics.map(({ name, help, type, labelNames }) => ({ name, help, type, labelNames }));
    return [...families, CONDITION].map(family => ({ ...family, labelNames: [...family.labelNames] }));
  }

  /** Returns the metrics in the Prometheus exposition format. */
  async text(): Promise<string> {
    const parts: string[] = [];
    for (const metric of this.#registry.getMetricsAsArray()) {
      parts.push(await this.#registry.getSingleMetricAsString(metric.name));
      await this.#yieldToEventLoop();
    }
    const { name, help, type } = CONDITION;
    parts.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...this.#conditions.values());
    return `${parts.join("\n")}\n`;
  }

  loop(controller: string): LoopMetrics {
    return this.#loops.of(controller);
  }

  intent(remedy: string, verb: string, result: string): void {
    this.#intents.inc({ remedy, verb, result });
  }

  conditions(key: Key, conditions: readonly ConditionState[]): void {
    if (conditions.length === 0) this.#conditions.delete(key);
    else if (!this.#conditions.has(key) && this.#conditions.size >= this.#maxObjects)
      this.#conditionsDropped.inc(conditions.length);
    else this.#conditions.set(key, conditions.map(condition => seriesOf(key, condition)).join("\n"));
  }

  status(key: Key, object: StatusOwner | null): void {
    this.#statusGauges.set(key, object);
  }

  identityRejected(rejected: boolean): void {
    this.#identityRejected.set(rejected ? 1 : 0);
  }

  /** Takes how far an API server's clock is ahead. */
  clockOffset(seconds: number): void {
    this.#clockOffset.set(seconds);
  }

  requested(method: string, code: string): void {
    this.#requests.inc({ method, code });
  }

  workloads(counts: readonly CoverageCount[]): void {
    this.#workloads.reset();
    for (const { protection, reason, count } of counts) this.#workloads.set({ protection, reason }, count);
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

  watchAges(read: () => readonly CacheAge[]): void {
    this.#cacheAges.push(read);
  }

  logRead(result: "ok" | "truncated" | "absent" | "error" | "timeout", bytes: number): void {
    this.#logReads.inc({ result });
    this.#logBytes.inc(bytes);
  }

  logReadInterval(seconds: number): void {
    this.#logInterval.set(seconds);
  }

  logRounds(state: string): void {
    this.#logRounds.reset();
    this.#logRounds.set({ state }, 1);
  }

  eventLost(): void {
    this.#eventsLost.inc();
  }

  notified(result: "sent" | "failed" | "dropped"): void {
    this.#notifications.inc({ result });
  }

  #measureCaches(): void {
    const sources = this.#cacheAges;
    new Gauge({
      name: "controller_resilience_watch_age_seconds",
      help: "Time since the API server last confirmed the oldest cache of the resource.",
      ...{ labelNames: ["resource"], registers: [this.#registry] },
      collect() {
        this.reset();
        const ages = sources.flatMap(read => read()).toSorted((a, b) => a.ageMs - b.ageMs);
        for (const { resource, ageMs } of ages) this.set({ resource }, ageMs / 1000);
      },
    });
  }

  #collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
  }

  async #yieldToEventLoop(): Promise<void> {
    if (this.#clock !== undefined) await yieldToEventLoop(this.#clock);
  }

  #counter<L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ name: `controller_resilience_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #gauge<L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> {
    return new Gauge({ name: `controller_resilience_${name}`, help, labelNames, registers: [this.#registry] });
  }
}

/** A line of the exposition format, whose escapes in label values are those of JSON. */
function seriesOf(key: Key, { type, status, reason }: ConditionState): string {
  const { namespace, name } = splitKey(key);
  const values = [namespace === "" ? CLUSTER_KIND : KIND, namespace, name, type, status, reason];
  const labels = CONDITION.labelNames.map((label, i) => `${label}=${JSON.stringify(values[i])}`);
  return `${CONDITION.name}{${labels.join(",")}} 1`;
}
