import type { ControllerResilience } from "../../api/controller-resilience";

/* eslint-disable @typescript-eslint/no-unused-vars -- parameters for overriding methods */
import type { Clock } from "../time";
import type { LeaseReading } from "../leases";
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

  /** None. */
  pods(_namespace: string): Promise<readonly PodView[]> {
    return Promise.resolve([]);
  }

  /** None. */
  podsOnNode(_node: string): Promise<readonly PodView[]> {
    return Promise.resolve([]);
  }

  /** None. */
  sandboxEvents(_namespace: string): Promise<readonly SandboxEventView[]> {
    return Promise.resolve([]);
  }

  /** None. */
  namespace(_name: string): Promise<NamespaceView | null> {
    return Promise.resolve(null);
  }

  /** None. */
  workload(_kind: WorkloadView["kind"], _namespace: string, _name: string): Promise<WorkloadView | null> {
    return Promise.resolve(null);
  }

  /** None. */
  workloads(_kind: WorkloadView["kind"], _namespace: string): Promise<readonly WorkloadView[]> {
    return Promise.resolve([]);
  }

  /** None. */
  daemonSet(_namespace: string, _name: string): Promise<DaemonSetView | null> {
    return Promise.resolve(null);
  }

  /** None. */
  serviceAccount(_namespace: string, _name: string): Promise<ServiceAccountView | null> {
    return Promise.resolve(null);
  }

  /** None. */
  bindings(_kind: BindingKind, _namespace: string): Promise<readonly BindingView[]> {
    return Promise.resolve([]);
  }

  /** None. */
  binding(_kind: BindingKind, _namespace: string, _name: string): Promise<BindingView | null> {
    return Promise.resolve(null);
  }

  /** None. */
  role(_kind: "Role" | "ClusterRole", _namespace: string, _name: string): Promise<RoleView | null> {
    return Promise.resolve(null);
  }

  /** None. */
  clusterObjects(
    _kind: ClusterKind,
    _labels?: Readonly<Record<string, string>>,
  ): Promise<readonly ClusterObjectView[] | null> {
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

  /** Unknown. */
  staleTokens(): Promise<number | null> {
    return Promise.resolve(null);
  }

  /** Unknown. */
  apiAudiences(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  /** Unknown. */
  ownUser(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  /** None. */
  keyRotation(_maxAgeMs?: number): Promise<KeyRotation | undefined> {
    return Promise.resolve(undefined);
  }

  /** No requests, on a single API server. */
  requestRates(_maxAgeMs: number): Promise<RequestRates> {
    return Promise.resolve({ spans: {}, readMs: this.clock.now().getTime(), servers: { found: 1, read: 1 } });
  }

  /** None. */
  leases(_namespace: string, _maxAgeMs?: number): Promise<LeaseReading> {
    return Promise.resolve({ leases: [], readMs: this.clock.monotonicMs(), intervalMs: 10_000 });
  }
}
