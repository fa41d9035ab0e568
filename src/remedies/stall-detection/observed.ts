import type { RestartStatus, StallDetectionSpec, StallStatus } from "../../api/controller-resilience";
import { parseDuration } from "../../core/time";
import type { RestartLimits } from "../../core/intent";
import type { Mode } from "../../core/remedy";
import type { PodView, WorkloadView } from "../../core/views";
import type { Problem } from "../kit/problems";
import type { HeldLease } from "./lease-judge";
import type { ContainerLog } from "./logs";
import type { LostBinding } from "./lost-bindings";
import type { Holder } from "../kit/holder";

/** What one pass has read. */
export interface Observed {
  readonly mode: Mode;
  /** Restarts with the cause of this remedy. */
  readonly restarts: readonly RestartStatus[];
  /** status.stalls. */
  readonly previous: readonly StallStatus[];
  readonly limits: Limits;
  readonly missingTargets: readonly string[];
  readonly workloads: readonly ObservedWorkload[];
  /** Bindings that no longer name a ServiceAccount of the targets, and those that do. */
  readonly lost: readonly LostBinding[];
  readonly bindings: readonly PresentBinding[];
  /** Namespaces whose Leases can't be read now. */
  readonly unread: readonly string[];
  readonly problems: readonly Problem[];
}

/** How restarts are limited: fields of tokenRestart, or their defaults. */
export interface Limits extends RestartLimits {
  readonly maxUnavailable: number;
}

/** A workload and its pods. */
export interface ObservedWorkload {
  readonly view: WorkloadView;
  readonly pods: readonly ObservedPod[];
  /** Another object that acts on the workload. Absent: this one does, or no Lease is stale. */
  readonly holder?: Holder;
}

/** A pod that has not ended. */
export interface ObservedPod {
  readonly view: PodView;
  readonly isOperator: boolean;
  /** Leases that it holds. */
  readonly leases: readonly HeldLease[];
  readonly logs: readonly ContainerLog[];
}

/** A binding that names a ServiceAccount of the targets. */
export interface PresentBinding {
  readonly kind: LostBinding["kind"];
  readonly namespace: string;
  readonly name: string;
  readonly role: string;
  readonly serviceAccounts: readonly string[];
}

/** A workload in status and messages, such as `Deployment/web`. */
export function workloadId({ kind, name }: Pick<WorkloadView, "kind" | "name">): string {
  return `${kind}/${name}`;
}

/** What the functions of one workload share. */
export interface Scope {
  readonly observed: Observed;
  readonly spec: StallDetectionSpec;
  readonly workload: ObservedWorkload;
  readonly now: Date;
  readonly forMs: number;
}

/** Makes the scope of a workload. */
export function scopeOf(observed: Observed, spec: StallDetectionSpec, workload: ObservedWorkload, now: Date): Scope {
  return { observed, spec, workload, now, forMs: parseDuration(spec.for) };
}
