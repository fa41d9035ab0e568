import type { ControllerResilience, MetricsSpec } from "../../api/controller-resilience";

/* eslint-disable @typescript-eslint/no-unused-vars -- parameters for overriding methods */
import type { Clock } from "../time";
import type { LeaseReading } from "../leases";
import { type KindQuestion, type KindReading, type KindWriters, UNREAD_KIND } from "../progress";
import type { PodMetricsReading } from "../pod-metrics";
import { ImmediateRounds } from "./immediate-rounds";
import type { LogReader, LogRounds, Readers, RequestRates, Right } from "../readers";
import type { KeyRotation } from "../signing-keys";
import type {
  BindingKind,
  BindingView,
  ClusterKind,
  ClusterObjectView,
  DaemonSetView,
  NamespaceView,
  PodView,
  RoleView,
  SandboxEventView,
  ServiceAccountView,
  WorkloadView,
} from "../views";

/** An empty cluster in which the operator has every permission. Tests override what they need. */
export class EmptyReaders implements Readers {
  readonly logs: LogReader = { read: (_, use) => use(null) };
  readonly rounds: LogRounds;

  constructor(readonly clock: Clock) {
    this.rounds = new ImmediateRounds(clock);
  }

  latestMs(): number {
    return this.clock.now().getTime();
  }

  pods(_namespace: string): Promise<readonly PodView[]> {
    return Promise.resolve([]);
  }

  podsOnNode(_node: string): Promise<readonly PodView[]> {
    return Promise.resolve([]);
  }

  sandboxEvents(_namespace: string): Promise<readonly SandboxEventView[]> {
    return Promise.resolve([]);
  }

  namespace(_name: string): Promise<NamespaceView | null> {
    return Promise.resolve(null);
  }

  workload(_kind: WorkloadView["kind"], _namespace: string, _name: string): Promise<WorkloadView | null> {
    return Promise.resolve(null);
  }

  workloads(_kind: WorkloadView["kind"], _namespace: string): Promise<readonly WorkloadView[]> {
    return Promise.resolve([]);
  }

  daemonSet(_namespace: string, _name: string): Promise<DaemonSetView | null> {
    return Promise.resolve(null);
  }

  serviceAccount(_namespace: string, _name: string): Promise<ServiceAccountView | null> {
    return Promise.resolve(null);
  }

  bindings(_kind: BindingKind, _namespace: string): Promise<readonly BindingView[]> {
    return Promise.resolve([]);
  }

  binding(_kind: BindingKind, _namespace: string, _name: string): Promise<BindingView | null> {
    return Promise.resolve(null);
  }

  role(_kind: "Role" | "ClusterRole", _namespace: string, _name: string): Promise<RoleView | null> {
    return Promise.resolve(null);
  }

  clusterObjects(_kind: ClusterKind): Promise<readonly ClusterObjectView[] | null> {
    return Promise.resolve([]);
  }

  /** No object. */
  objects(_namespace: string): Promise<readonly ControllerResilience[]> {
    return Promise.resolve([]);
  }

  /** Always allowed. */
  may(_right: Right): Promise<boolean> {
    return Promise.resolve(true);
  }

  apiAudiences(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  ownUser(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  keyRotation(_maxAgeMs?: number): Promise<KeyRotation | undefined> {
    return Promise.resolve(undefined);
  }

  serverWithoutKey(_maxAgeMs: number): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  /** No requests, on a single API server. */
  requestRates(_maxAgeMs: number): Promise<RequestRates> {
    return Promise.resolve({ spans: {}, readMs: this.clock.now().getTime(), servers: { found: 1, read: 1 } });
  }

  leases(_namespace: string, _maxAgeMs?: number): Promise<LeaseReading> {
    return Promise.resolve({ leases: [], readMs: this.clock.monotonicMs(), intervalMs: 10_000 });
  }

  kind(_question: KindQuestion): Promise<KindReading> {
    return Promise.resolve(UNREAD_KIND);
  }

  kindWriters(): readonly KindWriters[] | undefined {
    return [];
  }

  podMetrics(_pod: PodView, _metrics: MetricsSpec): PodMetricsReading {
    return {};
  }
}
