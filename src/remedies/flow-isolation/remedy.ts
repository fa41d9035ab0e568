import { ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import { keyOf } from "../../core/key";
import type { Key } from "../../core/ports";
import { defineRemedy, type Remedy } from "../../core/remedy";
import { cleanUpFlows } from "./cleanup";
import { FLOW_GAUGES } from "./gauges";
import { observeFlows } from "./observe";
import { PodPeaks } from "./pod-peaks";
import { planFlows } from "./plan";
import { REASONS } from "./reasons";
import { reportFlows } from "./report";

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
  ...["deployments", "statefulsets", "daemonsets"].map(resource => ({
    apiGroup: "apps",
    resource,
    verbs: ["get", "list", "watch"],
    why: "Reads the targets.",
  })),
];

/** Isolates the requests of each ServiceAccount of the targets in its own flow, and throttles runaways. */
export function createFlowIsolation(): Remedy<"flowIsolation"> {
  const peaks = new Map<Key, PodPeaks>();

  function peaksOf(key: Key): PodPeaks {
    const known = peaks.get(key) ?? new PodPeaks();
    peaks.set(key, known);
    return known;
  }

  return defineRemedy({
    name: "flow-isolation",
    block: "flowIsolation",
    condition: ConditionType.FlowsIsolated,
    reasons: REASONS,
    owns: "flows",
    permissions: PERMISSIONS,
    gauges: FLOW_GAUGES,
    observe: (object, spec, readers) => observeFlows(object, spec, readers, peaksOf(keyOf(object))),
    plan: planFlows,
    report: reportFlows,
    cleanUp: cleanUpFlows,
    forget: key => void peaks.delete(key),
  });
}
