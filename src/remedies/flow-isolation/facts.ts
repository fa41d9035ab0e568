import type { ControllerResilience, FlowIsolationSpec, FlowStatus } from "../../api/controller-resilience";
import type { Mode } from "../../core/remedy";
import type { RequestRates } from "../../core/readers";
import { SYSTEM_NAMESPACE } from "../../core/text";
import type { ClusterObjectView } from "../../core/views";

/** The block of the spec. */
export type Spec = FlowIsolationSpec;

/** The object that the FlowSchemas are made for. */
export type Owner = Pick<ControllerResilience, "metadata">;

/** Everything that a plan depends on: plain data, as observed. */
export interface FlowIsolationFacts {
  readonly mode: Mode;
  /** What the ControllerResilience asks for. */
  readonly generation: number;
  readonly owner: Owner;
  readonly accounts: readonly AccountFacts[];
  /** Names of the ServiceAccounts beyond those that one object isolates. */
  readonly leftOut: readonly string[];
  /** Targets that no workload matches. */
  readonly missingTargets: readonly string[];
  /** All FlowSchemas and PriorityLevelConfigurations of the cluster. */
  readonly schemas: readonly ClusterObjectView[];
  readonly levels: readonly ClusterObjectView[];
  readonly rates: RequestRates;
  /** For how long a FlowSchema has been as wanted at every look, in milliseconds, by name; absent: always. */
  readonly rightForMs?: ReadonlyMap<string, number>;
  /** For how long this leader has looked at them, in milliseconds: it knows nothing of what was corrected before. Absent: always. */
  readonly knownForMs?: number;
  /** Why the targets are not understood, if they have values that only a later version knows: then throttles end, and nothing else happens. */
  readonly notUnderstood?: string;
}

/** A ServiceAccount of the targets. */
export interface AccountFacts {
  readonly name: string;
  /** Most running pods of the namespace that used it while the requests were measured that count now. Absent: unknown. */
  readonly runningPods?: number;
  /** One of its pods or targets is a component of the cluster, with the skip annotation or without. Absent: unknown, since neither is there. */
  readonly isComponent?: boolean;
  /** The operator runs as it. */
  readonly isOperator?: boolean;
  readonly record?: FlowStatus;
}

/** ServiceAccounts of one object: its author is no cluster administrator, and each costs two FlowSchemas. */
export const MAX_ACCOUNTS = 32;

/** Whether runaways are throttled: not by a value that only a later version knows, with which an existing throttle ends. */
export function throttles({ requestRate: { onRunaway } }: Spec): boolean {
  return onRunaway === "Throttle";
}

/** A throttled component of the cluster can take nodes or all new pods with it, and a throttled operator could not release itself. */
export function isThrottleable(account: AccountFacts, { owner }: FlowIsolationFacts): boolean {
  return !account.isOperator && account.isComponent === false && owner.metadata.namespace !== SYSTEM_NAMESPACE;
}

/** Time until the next reading of the rates in milliseconds, which is also their maximum age: normally, and while a flow may soon be throttled. */
const CALM_MS = 30_000;
const WATCHED_MS = 5_000;
const WATCHED: readonly FlowStatus["state"][] = ["Elevated", "Probation"];

/** Time until the next reading of the rates, in milliseconds. `states` are those of the flows that may be throttled. */
export function measuredEvery(states: readonly FlowStatus["state"][]): number {
  return states.some(state => WATCHED.includes(state)) ? WATCHED_MS : CALM_MS;
}
