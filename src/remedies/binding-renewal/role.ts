import type { BindingKind, RoleRule } from "../../core/views";

const RBAC_GROUPS = ["rbac.authorization.k8s.io"];
const CORE = [""];

/**
 * Says what lets the holder of a role take rights that nobody gave it, such as `may escalate clusterroles`; undefined if nothing does. An
 * operator that binds such a role is as good as cluster-admin. Kubernetes' roles `edit` and `admin` may impersonate ServiceAccounts: in a
 * RoleBinding only those of its namespace, whose pods they may run anyway. Pure.
 */
export function excessOf(rules: readonly RoleRule[], binding: BindingKind): string | undefined {
  const impersonated = ["users", "groups", ...(binding === "RoleBinding" ? [] : ["serviceaccounts"])];
  for (const rule of rules) {
    const verbs = ["escalate", "bind"].filter(verb => matches(rule.verbs, verb));
    const roles = ["roles", "clusterroles"].filter(resource => allows(rule, RBAC_GROUPS, resource));
    if (verbs[0] !== undefined && roles[0] !== undefined) return `may ${verbs[0]} ${roles[0]}`;
    const found = matches(rule.verbs, "impersonate")
      ? impersonated.find(resource => allows(rule, CORE, resource))
      : undefined;
    if (found !== undefined) return `may impersonate ${found}`;
    // With Secrets.
    if (rule.verbs.length > 0 && rule.resources.includes("*") && matches(rule.apiGroups, ""))
      return `may ${rule.verbs.join(", ")} all resources ("*")`;
  }
  return undefined;
}

function allows({ apiGroups, resources }: RoleRule, groups: readonly string[], resource: string): boolean {
  return groups.some(group => matches(apiGroups, group)) && matches(resources, resource);
}

function matches(values: readonly string[], value: string): boolean {
  return values.includes("*") || values.includes(value);
}
