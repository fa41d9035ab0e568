import { Counter, Gauge, type GaugeConfiguration, Histogram, Registry } from "prom-client";
import type { Key, LoopMetrics, QueueState, StatusOwner } from "../core/ports";
import type { GaugeSample, StatusGauge } from "../core/remedy";

// Gauges with a series for each object: bounded in number, and written down in parts.

/** Most series of one gauge, so that no user floods Prometheus: of one object, and of all objects. */
const MAX_OF_OBJECT = 500;
const MAX_OF_ALL = 2_000;

/** The gauges that remedies declare. Objects that share a series, such as the rate of one ServiceAccount, keep it until the last is gone. */
export class StatusGauges {
  readonly #gauges: readonly Exported[];

  constructor(declared: readonly StatusGauge[], registry: Registry) {
    this.#gauges = declared.map(declaration => new Exported(declaration, registry));
  }

  /** Replaces the series of an object; null removes them. */
  set(key: Key, object: StatusOwner | null): void {
    for (const gauge of this.#gauges) gauge.set(key, object);
  }
}

class Exported {
  readonly #declaration: StatusGauge;
  readonly #gauge: Gauge;
  /** Labels of the exported series by object, by the text of the labels. */
  readonly #series = new Map<Key, ReadonlyMap<string, GaugeSample["labels"]>>();
  /** How many objects share a series. */
  readonly #holders = new Map<string, number>();
  #count = 0;

  constructor(declaration: StatusGauge, registry: Registry) {
    const { name, help, labels } = declaration;
    this.#declaration = declaration;
    this.#gauge = new Gauge({
      ...{ name: `controller_resilience_${name}`, help, labelNames: [...labels] },
      registers: [registry],
    });
  }

  set(key: Key, object: StatusOwner | null): void {
    const before = this.#series.get(key) ?? new Map<string, GaugeSample["labels"]>();
    const room = Math.min(MAX_OF_OBJECT, MAX_OF_ALL - this.#count + before.size);
    const samples = (object === null ? [] : this.#declaration.samples(key, object)).slice(0, room);
    const after = new Map(samples.map(({ labels }) => [JSON.stringify(labels), labels]));
    for (const { labels, value } of samples) this.#gauge.set(labels, value);
    for (const id of after.keys()) if (!before.has(id)) this.#holders.set(id, (this.#holders.get(id) ?? 0) + 1);
    for (const [id, labels] of before) if (!after.has(id)) this.#release(id, labels);
    if (after.size === 0) this.#series.delete(key);
    else this.#series.set(key, after);
    this.#count += after.size - before.size;
  }

  #release(id: string, labels: GaugeSample["labels"]): void {
    const left = (this.#holders.get(id) ?? 1) - 1;
    if (left > 0) this.#holders.set(id, left);
    else {
      this.#holders.delete(id);
      this.#gauge.remove({ ...labels });
    }
  }
}

/** With 10,000 series (2,000 objects with 5 conditions), formatting a shard takes about 3 ms; formatting all of them took 30 to 115 ms. */
const SHARDS = 16;

interface Shard<L extends string> {
  readonly registry: Registry;
  readonly gauge: Gauge<L>;
}

/** A gauge with thousands of series that is formatted in parts: prom-client formats a metric in one piece and blocks the event loop. */
export class ShardedGauge<L extends string> {
  readonly #configuration: Omit<GaugeConfiguration<L>, "registers">;
  readonly #shards = new Map<number, Shard<L>>();

  constructor(configuration: Omit<GaugeConfiguration<L>, "registers">) {
    this.#configuration = configuration;
    this.#shard(0);
  }

  /** Returns the gauge with the series of a key. */
  of(key: string): Gauge<L> {
    let hash = 0;
    for (let i = 0; i < key.length; i++) hash = (31 * hash + key.charCodeAt(i)) | 0;
    return this.#shard((hash >>> 0) % SHARDS).gauge;
  }

  /** Yields the exposition format in parts, to be joined by line breaks. */
  async *parts(): AsyncGenerator<string> {
    const { name } = this.#configuration;
    for (const [i, { registry }] of this.#shards) {
      const [help, type, ...series] = (await registry.getSingleMetricAsString(name)).split("\n");
      if (i === 0) yield [help, type, ...series].join("\n");
      else if (series.length > 0) yield series.join("\n");
    }
  }

  #shard(i: number): Shard<L> {
    const known = this.#shards.get(i);
    if (known !== undefined) return known;
    const registry = new Registry();
    const made = { registry, gauge: new Gauge({ ...this.#configuration, registers: [registry] }) };
    this.#shards.set(i, made);
    return made;
  }
}

/** From 5 ms to a minute: a pass reads logs, each in up to 10 s. */
const PASS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** A key waits for a few milliseconds, or for the full pass of a large cluster. */
const WAIT_BUCKETS = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

/**
 * What the reconcile loops measure: `workqueue_*` with the names, label and meaning of client-go and controller-runtime, so that their
 * dashboards fit, and `controller_resilience_reconcile*`.
 */
export class LoopMetricsSet {
  readonly #registry: Registry;
  readonly #queues = new Map<string, () => QueueState>();
  readonly #reconciles: Counter<"controller" | "result">;
  readonly #reconcileSeconds: Histogram<"controller">;
  readonly #adds: Counter<"name">;
  readonly #retries: Counter<"name">;
  readonly #waited: Histogram<"name">;
  readonly #worked: Histogram<"name">;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    const ofLoop = (name: string, help: string) => ({ name: `controller_resilience_${name}`, help, registers });
    this.#reconciles = new Counter({
      ...ofLoop("reconciles_total", "Reconciliations by controller and result."),
      labelNames: ["controller", "result"],
    });
    this.#reconcileSeconds = new Histogram({
      ...ofLoop("reconcile_duration_seconds", "Duration of one reconciliation."),
      ...{ labelNames: ["controller"], buckets: PASS_BUCKETS },
    });
    const ofQueue = (name: string, help: string) => ({
      ...{ name: `workqueue_${name}`, help, registers },
      labelNames: ["name"] as const,
    });
    this.#adds = new Counter(ofQueue("adds_total", "Keys added to the work queue."));
    this.#retries = new Counter(ofQueue("retries_total", "Keys requeued with backoff after a failure."));
    const waitHelp = "How long a key waits in the work queue before a worker takes it.";
    this.#waited = new Histogram({ ...ofQueue("queue_duration_seconds", waitHelp), buckets: WAIT_BUCKETS });
    const workHelp = "How long a worker works on a key.";
    this.#worked = new Histogram({ ...ofQueue("work_duration_seconds", workHelp), buckets: PASS_BUCKETS });
    this.#measureQueues();
  }

  /** Metrics of one loop, whose counters begin at 0. */
  of(name: string): LoopMetrics {
    for (const counter of [this.#adds, this.#retries]) counter.inc({ name }, 0);
    return {
      reconciled: (result, seconds) => {
        this.#reconciles.inc({ controller: name, result });
        this.#reconcileSeconds.observe({ controller: name }, seconds);
      },
      added: () => this.#adds.inc({ name }),
      taken: seconds => this.#waited.observe({ name }, seconds),
      done: seconds => this.#worked.observe({ name }, seconds),
      retried: () => this.#retries.inc({ name }),
      ofQueue: state => void this.#queues.set(name, state),
    };
  }

  /** What is asked for at each export. */
  #measureQueues(): void {
    this.#measure("depth", "Keys that wait in the work queue.", ({ depth }) => depth);
    this.#measure(
      "unfinished_work_seconds",
      "Sum of the time that the keys in work have been worked on. A value that grows shows a stuck worker.",
      ({ workingSeconds }) => workingSeconds.reduce((sum, seconds) => sum + seconds, 0),
    );
    this.#measure(
      "longest_running_processor_seconds",
      "How long the worker that is busy for the longest time has been working on its key.",
      ({ workingSeconds }) => Math.max(0, ...workingSeconds),
    );
  }

  #measure(name: string, help: string, valueOf: (state: QueueState) => number): void {
    const queues = this.#queues;
    new Gauge({
      ...{ name: `workqueue_${name}`, help, labelNames: ["name"], registers: [this.#registry] },
      collect() {
        for (const [queue, state] of queues) this.set({ name: queue }, valueOf(state()));
      },
    });
  }
}
