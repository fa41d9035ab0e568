import { KINDS, pluralOf } from "../../core/kinds";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Right } from "../../core/readers";
import type { BindingView } from "../../core/views";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/**
 * The rights that a change of a binding needs: the write itself, and `bind` on the role, in the namespace of the binding
 * (kubernetes/kubernetes pkg/registry/rbac/rolebinding/policybased/storage.go and rbac/escalation_check.go, BindingAuthorized). The API
 * server also accepts a client that holds every permission of the role, which is more than `bind`. `get` on the role shows its rules: the
 * operator binds none with which its holder can take more rights (role.ts).
 */
export function rightsFor(
  binding: Pick<BindingView | BindingStatus, "kind" | "name" | "namespace" | "roleRef">,
): Right[] {
  const { kind, name, namespace, roleRef } = binding;
  const within = kind === "RoleBinding" && namespace !== undefined ? { namespace } : {};
  return [
    { apiGroup: RBAC_GROUP, resource: KINDS[kind].plural, verb: "patch", ...within, name },
    ...(roleRef === undefined
      ? []
      : ["bind", "get"].map(right => ({
          apiGroup: RBAC_GROUP,
          resource: pluralOf(roleRef.kind) ?? roleRef.kind,
          verb: right,
          name: roleRef.name,
          ...within,
        }))),
  ];
}

/** Verbs on a role, which are granted role by role. */
const ROLE_VERBS: ReadonlySet<string> = new Set(["bind", "get"]);

/** The rule to add, as YAML in one line. */
export function ruleOf({ apiGroup, resource, verb, name }: Right): string {
  // A role's name may contain brackets and commas, and unquoted would be another rule.
  const names = name === undefined || !ROLE_VERBS.has(verb) ? "" : `, resourceNames: [${JSON.stringify(name)}]`;
  return `{apiGroups: [${apiGroup}], resources: [${resource}]${names}, verbs: [${verb}]}`;
}
