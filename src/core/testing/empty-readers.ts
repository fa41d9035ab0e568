import type { MetricsSpec } from "../../api/controller-resilience";

import type { Clock } from "../time";
import type { LeaseReading } from "../leases";
import { type KindWriters, UNREAD_KIND } from "../progress";
import type { PodMetricsReading } from "../pod-metrics";
import { ImmediateRounds } from "./immediate-rounds";
import type { LogReader, LogRounds, Readers, RequestRates } from "../readers";
import type { PodView } from "../views";

/** What does not depend on the time, by the method that promises it. */
const ANSWERS = {
  pods: [],
  podsOnNode: [],
  sandboxEvents: [],
  namespace: null,
  workload: null,
  workloads: [],
  daemonSet: null,
  serviceAccount: null,
  bindings: [],
  binding: null,
  role: null,
  clusterObjects: [],
  objects: [],
  may: true,
  apiAudiences: [],
  ownUser: undefined,
  keyRotation: undefined,
  serverWithoutKey: undefined,
  kind: UNREAD_KIND,
} satisfies {
  [Method in keyof Readers as Readers[Method] extends (...args: never) => Promise<unknown>
    ? Exclude<Method, "requestRates" | "leases">
    : never]: Readers[Method] extends (...args: never) => Promise<infer Answer> ? Answer : never;
};

/** An empty cluster in which the operator has every permission. Tests override what they need. */
export class EmptyReaders extends (Object as unknown as new () => Readers) {
  override readonly logs: LogReader = { read: (_, use) => use(null) };
  override readonly rounds: LogRounds;
  override readonly ownNamespace: string = "controller-resilience-system";

  constructor(override readonly clock: Clock) {
    super();
    this.rounds = new ImmediateRounds(clock);
  }

  override latestMs(): number {
    return this.clock.now().getTime();
  }

  /** No requests, on a single API server. */
  override requestRates(): Promise<RequestRates> {
    return Promise.resolve({ spans: {}, readMs: this.clock.now().getTime(), servers: { found: 1, read: 1 } });
  }

  override leases(_namespace: string, _maxAgeMs?: number): Promise<LeaseReading> {
    return Promise.resolve({ leases: [], readMs: this.clock.monotonicMs(), intervalMs: 10_000 });
  }

  override kindWriters(): readonly KindWriters[] | undefined {
    return [];
  }

  override podMetrics(_pod: PodView, _metrics: MetricsSpec): PodMetricsReading {
    return {};
  }
}

for (const [method, answer] of Object.entries(ANSWERS))
  Object.defineProperty(EmptyReaders.prototype, method, {
    ...{ configurable: true, writable: true, enumerable: false },
    value: () => Promise.resolve(answer),
  });
