import { ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import type { LegacyRemedy } from "../../core/legacy-remedy";
import { runToEnd } from "../../core/slices";
import { concludeBindings } from "./conclude";
import { decideBindings } from "./decide";
import type { BindingRenewalFacts } from "./facts";
import { observeBindings } from "./observe";
import { REASONS } from "./reasons";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/**
 * Everything that this remedy can ever touch. The API server lets it change a binding only with `bind` on that very role, which is no
 * part of this: an installer gives it role by role, by name.
 */
const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: RBAC_GROUP,
    resource: "rolebindings",
    verbs: ["get", "list", "watch", "patch", "create"],
    why: "Sees which RoleBindings expire; patch renews one, create restores one that expired.",
  },
  {
    apiGroup: RBAC_GROUP,
    resource: "clusterrolebindings",
    verbs: ["get", "list", "watch", "patch", "create"],
    why: "Sees which ClusterRoleBindings expire; patch renews one, create restores one that expired.",
  },
  ...["deployments", "statefulsets", "daemonsets"].map(resource => ({
    apiGroup: "apps",
    resource,
    verbs: ["get", "list"],
    why: "Finds the targets and the ServiceAccounts that they run as.",
  })),
];

/** Renews RoleBindings and ClusterRoleBindings before they expire, in the convention that they use. */
export function createBindingRenewal(): LegacyRemedy<"bindingRenewal", BindingRenewalFacts> {
  return {
    name: "binding-renewal",
    block: "bindingRenewal",
    condition: ConditionType.BindingsCurrent,
    reasons: REASONS,
    owns: "bindings",
    permissions: PERMISSIONS,
    observe: observeBindings,
    // The same, for whoever has no event loop to look after.
    decide: (facts, spec, now) => runToEnd(decideBindings(facts, spec, now)),
    decideInSteps: decideBindings,
    conclude: concludeBindings,
  };
}
