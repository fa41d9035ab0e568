import type { StallDetectionSpec, StallStatus } from "../../api/controller-resilience";
import type { Problem } from "../../core/errors";
import type { LeaseTrack } from "../../core/leases";
import type { PodMetricsTrack } from "../../core/pod-metrics";
import type { Key } from "../../core/ports";
import type { KindReading } from "../../core/progress";
import type { Readers } from "../../core/readers";
import type { ObjectInMode, PendingRestart } from "../../core/remedy";
import type { PodView } from "../../core/views";
import type { Verdict } from "../../evidence/progress/judge";
import { LogWatch } from "../../logs/reading/log-watch";
import { RolloutWaits } from "../../restarts/limits";
import type { Limits, ObservedTargets, TargetWorkload } from "../kit/restarting";
import { type Denial, type LostBinding, LostBindings } from "./denials";
import { AbleTimes, type HeldLease } from "./lease-judge";

/** What one pass has read. */
export interface Observed extends ObservedTargets<ObservedPod> {
  /** status.stalls. */
  readonly previous: readonly StallStatus[];
  readonly limits: Limits;
  /** Kinds that the controllers should handle. */
  readonly kinds: readonly ObservedKind[];
  /** Of the namespace, and those that the spec lists. */
  readonly leases: readonly LeaseTrack[];
  /** Bindings that no longer name ServiceAccounts of the pods. */
  readonly lost: readonly LostBinding[];
  /** As {@link LostBindings.presentSinceMs}. */
  readonly boundSinceMs: LostBindings["presentSinceMs"];
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
  readonly logs: PodLogs;
  /** Leases that it holds. */
  readonly leases: readonly HeldLease[];
  /** What it says of itself. Absent: it is not known. */
  readonly track?: PodMetricsTrack;
  /** It does the work of its workload: it leads, or nothing shows that another pod does. */
  readonly leads: boolean;
  /** Its metrics show that it does not do its work. */
  readonly idle?: IdlePod | undefined;
}

/** What the logs of a pod show, those of its containers together. */
export interface PodLogs {
  /** All were read lately. */
  readonly isRead: boolean;
  /** One was never read, for no known reason. */
  readonly isUnread: boolean;
  readonly has401: boolean;
  /** Topics of records of lately. */
  readonly recent: readonly string[];
  /** The API server refuses its requests with 429 just now, several times lately. Delays by the client's own limit do not count. */
  readonly isThrottled: boolean;
  /** Persistent 403s, if they are evidence. */
  readonly denials: readonly Denial[];
  /** Why it loses its Lease again and again, if it does, and that is evidence. */
  readonly loss?: string | undefined;
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

/** A workload, and what its functions share. */
export interface Scope extends ObservedWorkload {
  /** Such as `Deployment/web`. */
  readonly id: string;
  readonly observed: Observed;
  readonly spec: StallDetectionSpec;
  readonly now: Date;
  /** Restarts in backoff. */
  readonly pending: readonly PendingRestart[];
}

/** The state of an object that was not observed before. */
export function newMemory(key: Key) {
  return { logs: new LogWatch(key), bindings: new LostBindings(), able: new AbleTimes(), rollouts: new RolloutWaits() };
}

/** What the functions of one pass share. */
export interface Pass {
  readonly object: ObjectInMode;
  readonly spec: StallDetectionSpec;
  readonly readers: Readers;
  /** What is remembered of the object between two passes. */
  readonly memory: ReturnType<typeof newMemory>;
  /** Failed reads are added here. */
  readonly problems: Problem[];
}
