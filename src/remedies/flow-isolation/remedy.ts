import { ConditionType } from "../../api/conditions";
import type { ControllerResilience, FlowStatus } from "../../api/controller-resilience";
import { ForbiddenError } from "../../core/errors";
import type { Intent, Permission } from "../../core/intent";
import { keyOf, splitKey } from "../../core/text";
import type { StatusOwner } from "../../core/metrics";
import type { Key } from "../../core/ports";
import type { Readers } from "../../core/readers";
import { defineRemedy, type Remedy, type StatusGauge } from "../../core/remedy";
import { TARGET_RIGHTS } from "../kit/targets";
import { buildSurplus } from "./objects";
import { observeFlows, FlowMemory } from "./observe";
import { planFlows, reportFlows } from "./plan";
import { REASONS } from "./reasons";

const FLOW_CONTROL_GROUP = "flowcontrol.apiserver.k8s.io";

const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: FLOW_CONTROL_GROUP,
    resource: "flowschemas",
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "Creates a flow for each ServiceAccount of the targets; patch throttles and releases one.",
  },
  {
    apiGroup: FLOW_CONTROL_GROUP,
    resource: "prioritylevelconfigurations",
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "Manages the priority levels used by isolated flows and the quarantine level.",
  },
  {
    apiGroup: "",
    resource: "pods",
    verbs: ["list", "watch"],
    why: "Counts the running pods of each ServiceAccount: the threshold is per pod.",
  },
  {
    apiGroup: "rbac.authorization.k8s.io",
    resource: "clusterrolebindings",
    verbs: ["list", "watch"],
    why: "Sees who authenticates clients by the API server, such as its extensions: they are not throttled.",
  },
  {
    apiGroup: "",
    resource: "",
    url: "/metrics",
    verbs: ["get"],
    why: "Measures the request rate of each ServiceAccount from the API servers' counters.",
  },
  {
    apiGroup: "discovery.k8s.io",
    resource: "endpointslices",
    name: "kubernetes",
    verbs: ["get"],
    why: "Finds the API servers: each has its own counters.",
  },
  ...TARGET_RIGHTS,
];

/** Isolates the requests of each ServiceAccount of the targets in its own flow, and throttles runaways. */
export function createFlowIsolation(): Remedy<"flowIsolation"> {
  const memories = new Map<Key, FlowMemory>();

  function memoryOf(key: Key): FlowMemory {
    const known = memories.get(key) ?? new FlowMemory();
    memories.set(key, known);
    return known;
  }

  return defineRemedy({
    name: "flow-isolation",
    block: "flowIsolation",
    condition: ConditionType.FlowsIsolated,
    reasons: REASONS,
    owns: "flows",
    // A throttle must still end: an unknown value counts as the most careful one.
    handled: ["flowIsolation.requestRate.onRunaway", "targets[]"],
    permissions: PERMISSIONS,
    gauges: FLOW_GAUGES,
    observe: (object, spec, readers) => observeFlows(object, spec, readers, memoryOf(keyOf(object))),
    plan: planFlows,
    report: reportFlows,
    cleanUp: cleanUpFlows,
    whileSuspended: ({ status }) => describeHeldThrottles(status?.flows ?? []),
    forget: key => void memories.delete(key),
  });
}

function describeHeldThrottles(flows: readonly FlowStatus[]): string | undefined {
  const names = flows.filter(({ state }) => state === "Throttled").map(({ serviceAccount }) => serviceAccount);
  if (names.length === 0) return undefined;
  return `ServiceAccount ${names.join(", ")} stays throttled; let this object go on, or lift that by hand (docs/remedies/flow-isolation.md).`;
}

/** The gauges of flows. Objects of a namespace that isolate the same ServiceAccount share a series. */
export const FLOW_GAUGES: readonly StatusGauge[] = [
  // None while it is not measured.
  perFlow(
    "service_account_requests_per_second",
    "Last measured request rate of an isolated ServiceAccount.",
    ({ requestsPerSecond }, { suspend }) => (suspend ? undefined : requestsPerSecond),
  ),
  perFlow(
    "service_account_threshold_requests_per_second",
    "Request rate from which an isolated ServiceAccount counts as a runaway, if it lasts.",
    ({ threshold }) => threshold,
  ),
  perFlow("service_account_throttled", "1 while an isolated ServiceAccount is throttled, else 0.", ({ state }) =>
    state === "Throttled" ? 1 : 0,
  ),
];

function perFlow(
  name: string,
  help: string,
  valueOf: (flow: FlowStatus, spec: StatusOwner["spec"]) => number | undefined,
): StatusGauge {
  const samples: StatusGauge["samples"] = (key, { spec, status: { flows = [] } }) =>
    flows.flatMap(flow => {
      const value = valueOf(flow, spec);
      const labels = { namespace: splitKey(key).namespace, service_account: flow.serviceAccount };
      return value === undefined ? [] : [{ labels, value }];
    });
  return { name, help, labels: ["namespace", "service_account"], samples };
}

/**
 * Undoes everything when the object or its block is removed: deletes its FlowSchemas, which lifts a throttle, then the levels without a
 * FlowSchema. Without the right to list, nothing can have been made unless status says otherwise.
 *
 * @throws the readers' errors, except a missing right where nothing was ever made
 */
export async function cleanUpFlows(owner: ControllerResilience, from: Readers): Promise<Intent[]> {
  try {
    const schemas = (await from.clusterObjects("FlowSchema")) ?? [];
    const levels = (await from.clusterObjects("PriorityLevelConfiguration")) ?? [];
    return buildSurplus({ owner, schemas, levels });
  } catch (error) {
    const isKnown = (owner.status?.flows ?? []).length > 0;
    if (isKnown || !(error instanceof ForbiddenError)) throw error;
    return [];
  }
}
