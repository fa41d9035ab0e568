import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { LoopMetrics, QueueState } from "../core/ports";

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
