import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Key, LoopMetrics, QueueState, StatusOwner } from "../core/ports";
import type { GaugeSample, StatusGauge } from "../core/remedy";

// Gauges with a series for each object, bounded in number, and what loops measure.

/** Most series of one gauge, so that no user floods Prometheus: of one object, and of all objects. */
const MAX_OF_OBJECT = 500;
const MAX_OF_ALL = 2_000;

/** The gauges that remedies declare. Objects that share a series, such as the rate of one ServiceAccount, keep it until the last is gone. */
export class StatusGauges {
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
    ...{ name: `controller_resilience_${name}`, help, labelNames: [...labels], registers: [registry] },
    collect() {
      this.reset();
      const all = [...samples.values()].flat().slice(0, MAX_OF_ALL);
      for (const sample of all) this.set(sample.labels, sample.value);
    },
  });
  return samples;
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
