import type { StallDetectionSpec, StallStatus } from "../../api/controller-resilience";
import type { ObjectInMode, PendingWrite } from "../../core/remedy";
import type { LeaseTrack } from "../../core/leases";
import type { Key } from "../../core/ports";
import type { PodMetricsTrack } from "../../core/pod-metrics";
import type { KindReading } from "../../core/progress";
import type { Verdict } from "../../evidence/progress/judge";
import type { Readers } from "../../core/readers";
import type { UnauthorizedTrace } from "../../logs/persistence";
import { LogWatch } from "../../logs/reading/log-watch";
import type { ContainerView, PodView } from "../../core/views";
import type { Problem } from "../../core/errors";
import { AbleTimes, type HeldLease } from "./lease-judge";
import { type LostBinding, LostBindings } from "./lost-bindings";
import { RolloutWaits } from "../../restarts/limits";
import type { Limits, ObservedTargets, TargetWorkload } from "../kit/restarting";

/** What one pass has read. */
export interface Observed extends ObservedTargets<ObservedPod> {
  /** status.stalls. */
  readonly previous: readonly StallStatus[];
  readonly limits: Limits;
  /** Bindings that no longer name a ServiceAccount of the targets. */
  readonly lost: readonly LostBinding[];
  /** Kinds that the controllers should handle. */
  readonly kinds: readonly ObservedKind[];
  /** Of the namespace, and those that the spec lists. */
  readonly leases: readonly LeaseTrack[];
  /** Wall-clock time of this pass at the start of the monotonic clock. */
  readonly epochMs: number;
  /** How the ids of Leases and objects begin that can't be read now: a later reading begins with what status says of them. */
  readonly unread: readonly string[];
}

/** A kind that the controllers should handle, and what was read of it. */
export interface ObservedKind extends Verdict {
  readonly kind: string;
  readonly reading: KindReading;
  /** The workloads that may handle it: the one with a queue of its name, else all. A finding is about the first. */
  readonly owners: readonly ObservedWorkload[];
  /** The log of its controller shows that its writes are refused. */
  readonly isRefused: boolean;
}

/** A workload and its pods. */
export type ObservedWorkload = TargetWorkload<ObservedPod>;

/** A pod that has not ended. */
export interface ObservedPod {
  readonly view: PodView;
  readonly isOperator: boolean;
  /** Leases that it holds. */
  readonly leases: readonly HeldLease[];
  readonly logs: readonly ContainerLog[];
  /** What it says of itself. Absent: it is not known. */
  readonly track?: PodMetricsTrack;
  /** It does the work of its workload: it leads, or nothing shows that another pod does. */
  readonly leads: boolean;
  /** Its metrics show that it does not do its work. */
  readonly idle?: IdlePod | undefined;
}

/** What metrics show of a pod that does not do its work. */
export interface IdlePod {
  readonly reason: "QueueStuck" | "WatchesDead";
  /** Wall-clock time. */
  readonly sinceMs: number;
  readonly sentence: string;
  /** Items wait: it may be restarted also if no object is known to be due. */
  readonly hasWork: boolean;
}

/** The log of one container. */
export interface ContainerLog {
  readonly pod: PodView;
  readonly container: ContainerView;
  readonly topics: ReadonlyMap<string, UnauthorizedTrace>;
  /** Absent: it was not read yet. */
  readonly searchedFromMs?: number;
  readonly has401: boolean;
  /** It was read lately. */
  readonly isRead: boolean;
  /** It was never read, for no known reason. */
  readonly isUnread: boolean;
}

/** What the functions of one workload share. */
export interface Scope {
  readonly observed: Observed;
  readonly spec: StallDetectionSpec;
  readonly workload: ObservedWorkload;
  readonly now: Date;
  /** Writes in backoff. */
  readonly pending: readonly PendingWrite[];
  readonly forMs: number;
}

/** The state of an object that was not observed before. */
export function newMemory(key: Key) {
  return { logs: new LogWatch(key), bindings: new LostBindings(), able: new AbleTimes(), rollouts: new RolloutWaits() };
}

/** What is remembered of one ControllerResilience between two passes. */
export type ObjectMemory = ReturnType<typeof newMemory>;

/** What the functions of one pass share. */
export interface Pass {
  readonly object: ObjectInMode;
  readonly spec: StallDetectionSpec;
  readonly readers: Readers;
  readonly memory: ObjectMemory;
  /** Failed reads are added here. */
  readonly problems: Problem[];
}
