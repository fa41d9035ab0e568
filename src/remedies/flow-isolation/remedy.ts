import { ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import type { LegacyRemedy } from "../../core/legacy-remedy";
import { cleanUpFlows } from "./clean-up";
import { concludeFlows } from "./conclude";
import { decideFlows } from "./decide";
import type { FlowIsolationFacts } from "./facts";
import { observeFlows } from "./observe";
import { REASONS } from "./reasons";

const FLOW_CONTROL_GROUP = "flowcontrol.apiserver.k8s.io";

/** Everything that this remedy can ever touch. */
const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: FLOW_CONTROL_GROUP,
    resource: "flowschemas",
    verbs: ["get", "list", "create", "patch", "delete"],
    why: "Gives each ServiceAccount of the targets a flow of its own; patch throttles one and lets it go.",
  },
  {
    apiGroup: FLOW_CONTROL_GROUP,
    resource: "prioritylevelconfigurations",
    verbs: ["get", "list", "create", "patch", "delete"],
    why: "Keeps the levels that these flows are on, and the tar pit.",
  },
  {
    apiGroup: "",
    resource: "",
    url: "/metrics",
    verbs: ["get"],
    why: "Measures each ServiceAccount's requests by the API servers' own counters.",
  },
  {
    apiGroup: "discovery.k8s.io",
    resource: "endpointslices",
    name: "kubernetes",
    verbs: ["get"],
    why: "Finds the API servers, each of which counts for itself.",
  },
  ...["deployments", "statefulsets"].map(resource => ({
    apiGroup: "apps",
    resource,
    verbs: ["get", "list", "patch"],
    why: "Finds the targets; patch sets the replicas of a runaway to zero (onRunaway: ScaleToZero) and gives them back.",
  })),
  {
    apiGroup: "apps",
    resource: "daemonsets",
    verbs: ["get", "list"],
    why: "Finds the targets.",
  },
];

/** Gives each ServiceAccount of the targets a flow of its own, and holds runaways still. */
export function createFlowIsolation(): LegacyRemedy<"flowIsolation", FlowIsolationFacts> {
  return {
    name: "flow-isolation",
    block: "flowIsolation",
    condition: ConditionType.FlowsIsolated,
    reasons: REASONS,
    owns: "flows",
    permissions: PERMISSIONS,
    observe: observeFlows,
    decide: decideFlows,
    conclude: concludeFlows,
    cleanUp: cleanUpFlows,
  };
}
