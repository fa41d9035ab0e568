import type { ControllerResilience, FlowIsolationSpec, FlowStatus } from "../../api/controller-resilience";
import type { RequestRates } from "../../core/request-rates";
import type { ClusterObjectView, WorkloadView } from "../../core/views";

/** The block of the spec. */
export type Spec = FlowIsolationSpec;

/** The object that the FlowSchemas are made for. */
export type Owner = Pick<ControllerResilience, "metadata">;

/** All that a decision rests on: plain data, as observed. */
export interface FlowIsolationFacts {
  readonly mode: "Enforce" | "Observe";
  /** Of the ControllerResilience: what is put back is counted for each. */
  readonly generation: number;
  readonly owner: Owner;
  readonly accounts: readonly AccountFacts[];
  /** Targets that don't exist (yet). */
  readonly missingTargets: readonly string[];
  /** All FlowSchemas and PriorityLevelConfigurations of the cluster; null where the API server does not serve them. */
  readonly schemas: readonly ClusterObjectView[] | null;
  readonly levels: readonly ClusterObjectView[] | null;
  readonly rates: RequestRates;
  /** The operator may set replicas in this namespace. Not asked, hence false, unless that is wanted. */
  readonly mayScale: boolean;
  /** Workloads of the namespace that were scaled to zero for this object. Not looked for, hence none, where nothing was ever made for it. */
  readonly scaledDown: readonly WorkloadView[];
  /** What status tells of ServiceAccounts that are none of the targets' any more. */
  readonly former: readonly FlowStatus[];
}

/** A ServiceAccount of the targets. */
export interface AccountFacts {
  readonly name: string;
  /** The targets that run as it, without those that are to be left alone; none while they are missing. */
  readonly workloads: readonly WorkloadView[];
  readonly record?: FlowStatus;
}

/** How old the rates may be, in milliseconds: while all is well, and while a flow is watched more closely. A throttle ends by time. */
const CALM_MS = 30_000;
const WATCHED_MS = 5_000;
const WATCHED: readonly FlowStatus["state"][] = ["Elevated", "Probation"];

/** What is only told of is watched closely for no longer than this, in milliseconds: it can be Elevated for ever. */
const TOLD_MS = 300_000;

/** How soon the rates are to be read again, in milliseconds. */
export function measuredEvery(
  flows: readonly Pick<FlowStatus, "state" | "since">[],
  { mode, spec }: { readonly mode: FlowIsolationFacts["mode"]; readonly spec: Spec },
  nowMs: number,
): number {
  const mayHold = mode === "Enforce" && spec.requestRate.onRunaway !== "Report";
  const isToldOf = ({ state, since }: Pick<FlowStatus, "state" | "since">): boolean =>
    !mayHold && state === "Elevated" && nowMs - Date.parse(since ?? "") >= TOLD_MS;
  return flows.some(flow => WATCHED.includes(flow.state) && !isToldOf(flow)) ? WATCHED_MS : CALM_MS;
}
