import type { CauseName, State } from "../programs/causes";
import type { Obj } from "../server/objects";
import type { Store } from "../server/store";
import type { VirtualClock } from "../time";
import type { Plan } from "../world/plan";

// What the checker sees: the world, never what the operator thinks of it.

/** The truth about one container of a pod. */
export interface Truth {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Kind and name, such as `Deployment/app-3`. */
  readonly workload: string;
  readonly container: string;
  readonly state: State;
  readonly cause: CauseName;
  readonly sinceMs: number;
  readonly healedByRestart: boolean;
  /** When it last logged a 401 of its own request; since 1970. */
  readonly logged401Ms?: number | undefined;
}

/** A request that an API server has served, or refused. */
export interface Entry {
  /** From the start of the world, in milliseconds. */
  readonly atMs: number;
  /** Name of the client's pod. */
  readonly from: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** 0: no answer was sent. */
  readonly code: number;
  /** Of a write, as JSON. */
  readonly body?: string | undefined;
  readonly before?: Obj | undefined;
  readonly after?: Obj | undefined;
}

/** The world as the checker sees it. */
export interface Sight {
  readonly plan: Plan;
  readonly clock: VirtualClock;
  readonly store: Store;
  truths(): readonly Truth[];
  /** Calls back for each request of an operator, when it has been served. */
  onRequest(listener: (entry: Entry) => void): void;
  /** Whether what happens to the world has ended, and for how long. */
  calmSinceMs(): number | undefined;
}

/** A broken promise. */
export interface Violation {
  /** Its number in docs/simulation.md. */
  readonly promise: number;
  readonly atMs: number;
  readonly sentence: string;
}

/** Where checks report what is broken. */
export type Report = (promise: number, sentence: string) => void;

/** Kind and name of the workload that owns a pod, as the names of its ReplicaSets tell; undefined for a bare pod. */
export function workloadOf({ metadata }: Obj): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return undefined;
  return owner.kind === "ReplicaSet"
    ? `Deployment/${owner.name.replace(/-[a-z0-9]+$/, "")}`
    : `${owner.kind}/${owner.name}`;
}

/** The Ready condition of a pod that is not being deleted. */
export function isReady(pod: Obj): boolean {
  const conditions = (pod["status"] as { conditions?: { type: string; status: string }[] } | undefined)?.conditions;
  return (
    pod.metadata.deletionTimestamp === undefined &&
    conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  );
}
