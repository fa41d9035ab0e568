import { ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import { defineRemedy, type Remedy } from "../../core/remedy";
import { BINDING_GAUGES } from "./gauges";
import { observeBindings } from "./observe";
import { planBindings } from "./plan";
import { REASONS } from "./reasons";
import { reportBindings } from "./report";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Without `bind`, which every change of a binding needs on its role: an installer grants it role by role, by name. */
const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: RBAC_GROUP,
    resource: "rolebindings",
    verbs: ["get", "list", "watch", "patch"],
    why: "Sees which RoleBindings expire; patch renews one.",
  },
  {
    apiGroup: RBAC_GROUP,
    resource: "clusterrolebindings",
    verbs: ["get", "list", "watch", "patch"],
    why: "Sees which ClusterRoleBindings expire; patch renews one.",
  },
  ...["deployments", "statefulsets", "daemonsets"].map(resource => ({
    apiGroup: "apps",
    resource,
    verbs: ["get", "list", "watch"],
    why: "Finds the targets and the ServiceAccounts that they run as.",
  })),
];

/** Renews RoleBindings and ClusterRoleBindings before they expire, in the convention that they use. */
export function createBindingRenewal(): Remedy<"bindingRenewal"> {
  return defineRemedy({
    name: "binding-renewal",
    block: "bindingRenewal",
    condition: ConditionType.BindingsCurrent,
    reasons: REASONS,
    owns: ["bindings", "renewalTargets"],
    permissions: PERMISSIONS,
    gauges: BINDING_GAUGES,
    observe: observeBindings,
    plan: planBindings,
    report: reportBindings,
  });
}
