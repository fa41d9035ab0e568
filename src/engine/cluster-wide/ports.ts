import type { Random } from "../../core/time";
import type { ClusterObjectStore, ClusterWideCaches } from "../../core/cluster-wide";
import type { Outcome } from "../../core/intent";
import type { EngineMetrics } from "../../core/metrics";
import type { EventSink, Log, Writer } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { PlannedWrite } from "./generated";

/** What the loop of ClusterControllerResiliences needs from outside. */
export interface ClusterWidePorts {
  readonly caches: ClusterWideCaches;
  readonly store: ClusterObjectStore;
  /** They read live what takes protection away. */
  readonly readers: Readers;
  readonly writer: Writer;
  readonly events: EventSink;
  readonly isLeader: () => boolean;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

export interface ClusterWideSettings {
  /** The operator's own namespace. */
  readonly ownNamespace: string;
  /** Reports whether the operator watches a namespace. */
  readonly isWatched: (namespace: string) => boolean;
  /** The operator runs with `--mode=Observe`. */
  readonly observes?: boolean;
}

/** A write and its outcome. */
export interface WriteOutcome {
  readonly write: PlannedWrite;
  readonly outcome: Outcome;
}
