import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { CLUSTER_KIND, KIND } from "../api/names";
import {
  type CacheMetrics,
  type ConditionState,
  COUNTERS,
  type CounterName,
  type EngineMetrics,
  type GaugeName,
  GAUGES,
  type GaugeSample,
  type LoopMetrics,
  type QueueState,
  type StatusOwner,
} from "../core/metrics";
import type { Key } from "../core/ports";
import type { StatusGauge } from "../core/remedy";
import { yieldToEventLoop } from "../core/slices";
import { splitKey } from "../core/text";
import type { Clock } from "../core/time";

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

/** From 5 ms to a minute: a pass reads logs, each in up to 10 s. */
const PASS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** A key waits for a few milliseconds, or for the full pass of a large cluster. */
const WAIT_BUCKETS = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

/** What the reconcile loops measure: `workqueue_*` with the names, label and meaning of client-go and controller-runtime, so that their dashboards fit. */
const HISTOGRAMS = {
  reconcile_duration_seconds: {
    ...{ help: "Duration of one reconciliation.", labels: ["controller"], buckets: PASS_BUCKETS },
  },
  workqueue_queue_duration_seconds: {
    help: "How long a key waits in the work queue before a worker takes it.",
    ...{ labels: ["name"], buckets: WAIT_BUCKETS },
  },
  workqueue_work_duration_seconds: {
    ...{ help: "How long a worker works on a key.", labels: ["name"], buckets: PASS_BUCKETS },
  },
};

/** Gauges of the work queues, without the prefix `workqueue_`; asked for at each export. */
const QUEUE_GAUGES: Readonly<Record<string, { help: string; valueOf: (state: QueueState) => number }>> = {
  depth: { help: "Keys that wait in the work queue.", valueOf: ({ depth }) => depth },
  unfinished_work_seconds: {
    help: "Sum of the time that the keys in work have been worked on. A value that grows shows a stuck worker.",
    valueOf: ({ workingSeconds }) => workingSeconds.reduce((sum, seconds) => sum + seconds, 0),
  },
  longest_running_processor_seconds: {
    help: "How long the worker that is busy for the longest time has been working on its key.",
    valueOf: ({ workingSeconds }) => Math.max(0, ...workingSeconds),
  },
};

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
export class Metrics implements EngineMetrics, CacheMetrics {
  readonly #registry = new Registry();
  readonly #maxObjects: number;
  readonly #clock: Clock | undefined;
  /** The series of conditions by object, formatted: prom-client takes 30 to 115 ms for 10,000 of them (2,000 objects), in one piece. */
  readonly #conditions = new Map<Key, string>();
  readonly #counters: ReadonlyMap<CounterName, Counter>;
  readonly #histograms: ReadonlyMap<keyof typeof HISTOGRAMS, Histogram>;
  readonly #gauges: ReadonlyMap<GaugeName, Gauge>;
  readonly #statusGauges: StatusGauges;
  readonly #queues = new Map<string, () => QueueState>();
  readonly #cacheAges: { readonly resource: string; readonly ageMs: () => number | null }[] = [];

  constructor(options: MetricsOptions = {}) {
    this.#maxObjects = options.maxObjects ?? MAX_OBJECTS;
    this.#clock = options.clock;
    this.#counters = this.#registered(COUNTERS, configuration => new Counter(configuration));
    this.#histograms = this.#registered(HISTOGRAMS, configuration => new Histogram(configuration));
    this.#gauges = this.#registered(GAUGES, configuration => new Gauge(configuration));
    this.#statusGauges = new StatusGauges(options.gauges ?? [], this.#registry);
    this.#measureCaches();
    this.#measureQueues();
    if (options.processMetrics === true) this.#collectProcessMetrics();
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
      if (this.#clock !== undefined) await yieldToEventLoop(this.#clock);
    }
    const { name, help, type } = CONDITION;
    parts.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...this.#conditions.values());
    return `${parts.join("\n")}\n`;
  }

  loop(name: string): LoopMetrics {
    const controller = name;
    // Prometheus sees no increase in the first sample of a series.
    for (const counter of ["workqueue_adds_total", "workqueue_retries_total"] as const)
      this.count(counter, { name }, 0);
    for (const result of ["error", "panic"]) this.count("reconciles_total", { controller, result }, 0);
    return {
      reconciled: (result, seconds) => {
        this.count("reconciles_total", { controller, result });
        this.#histograms.get("reconcile_duration_seconds")?.observe({ controller }, seconds);
      },
      added: () => this.count("workqueue_adds_total", { name }),
      taken: seconds => this.#histograms.get("workqueue_queue_duration_seconds")?.observe({ name }, seconds),
      done: seconds => this.#histograms.get("workqueue_work_duration_seconds")?.observe({ name }, seconds),
      retried: () => this.count("workqueue_retries_total", { name }),
      ofQueue: state => void this.#queues.set(name, state),
    };
  }

  count(name: CounterName, labels: Readonly<Record<string, string>>, by = 1): void {
    this.#counters.get(name)?.inc(labels, by);
  }

  show(name: GaugeName, value: number | readonly GaugeSample[]): void {
    const gauge = this.#gauges.get(name);
    if (typeof value === "number") gauge?.set(value);
    else {
      gauge?.reset();
      for (const sample of value) gauge?.set(sample.labels, sample.value);
    }
  }

  conditions(key: Key, conditions: readonly ConditionState[]): void {
    if (conditions.length === 0) this.#conditions.delete(key);
    else if (!this.#conditions.has(key) && this.#conditions.size >= this.#maxObjects)
      this.count("conditions_dropped_total", {}, conditions.length);
    else this.#conditions.set(key, conditions.map(condition => seriesOf(key, condition)).join("\n"));
  }

  status(key: Key, object: StatusOwner | null): void {
    this.#statusGauges.set(key, object);
  }

  watchAge(resource: string, ageMs: () => number | null): void {
    this.#cacheAges.push({ resource, ageMs });
  }

  #measureCaches(): void {
    const sources = this.#cacheAges;
    new Gauge({
      name: "controller_resilience_watch_age_seconds",
      help: "Time since the API server last confirmed the oldest cache of the resource.",
      ...{ labelNames: ["resource"], registers: [this.#registry] },
      collect() {
        this.reset();
        const oldest = new Map<string, number>();
        for (const { resource, ageMs } of sources)
          oldest.set(resource, Math.max(oldest.get(resource) ?? -1, ageMs() ?? -1));
        for (const [resource, ageMs] of oldest) if (ageMs >= 0) this.set({ resource }, ageMs / 1000);
      },
    });
  }

  #measureQueues(): void {
    const queues = this.#queues;
    for (const [name, { help, valueOf }] of Object.entries(QUEUE_GAUGES))
      new Gauge({
        ...{ name: `workqueue_${name}`, help, labelNames: ["name"], registers: [this.#registry] },
        collect() {
          for (const [queue, state] of queues) this.set({ name: queue }, valueOf(state()));
        },
      });
  }

  #collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
  }

  #registered<N extends string, D extends { readonly help: string; readonly labels: readonly string[] }, M>(
    described: Readonly<Record<N, D>>,
    create: (configuration: D & { name: string; labelNames: string[]; registers: Registry[] }) => M,
  ): ReadonlyMap<N, M> {
    const registers = [this.#registry];
    const all = (Object.keys(described) as N[]).map(name => {
      const labelNames = [...described[name].labels];
      return [name, create({ ...described[name], name: fullName(name), labelNames, registers })] as const;
    });
    return new Map(all);
  }
}

function fullName(name: string): string {
  return /^(rest_client|workqueue)_/.test(name) ? name : `controller_resilience_${name}`;
}

/** A line of the exposition format, whose escapes in label values are those of JSON. */
function seriesOf(key: Key, { type, status, reason }: ConditionState): string {
  const { namespace, name } = splitKey(key);
  const values = [namespace === "" ? CLUSTER_KIND : KIND, namespace, name, type, status, reason];
  const labels = CONDITION.labelNames.map((label, i) => `${label}=${JSON.stringify(values[i])}`);
  return `${CONDITION.name}{${labels.join(",")}} 1`;
}

// Gauges with a series for each object, bounded in number.

/** Most series of one gauge, so that no user floods Prometheus: of one object, and of all objects. */
const MAX_OF_OBJECT = 500;
const MAX_OF_ALL = 2_000;

/** The gauges that remedies declare. Objects that share a series, such as the rate of one ServiceAccount, keep it until the last is gone. */
class StatusGauges {
  readonly #gauges: readonly { readonly declared: StatusGauge; readonly samples: Map<Key, readonly GaugeSample[]> }[];

  constructor(gauges: readonly StatusGauge[], registry: Registry) {
    this.#gauges = gauges.map(declared => ({ declared, samples: exported(declared, registry) }));
  }

  /** Replaces the series of an object; null removes them. */
  set(key: Key, object: StatusOwner | null): void {
    for (const { declared, samples } of this.#gauges) {
      const found = object === null ? [] : declared.samples(key, object).slice(0, MAX_OF_OBJECT);
      if (found.length === 0) samples.delete(key);
      else samples.set(key, found);
    }
  }
}

/** Registers a gauge that shows the samples, by object, that are in the returned map at each export. */
function exported({ name, help, labels }: StatusGauge, registry: Registry): Map<Key, readonly GaugeSample[]> {
  const samples = new Map<Key, readonly GaugeSample[]>();
  new Gauge({
    ...{ name: fullName(name), help, labelNames: [...labels], registers: [registry] },
    collect() {
      this.reset();
      const all = [...samples.values()].flat().slice(0, MAX_OF_ALL);
      for (const sample of all) this.set(sample.labels, sample.value);
    },
  });
  return samples;
}
