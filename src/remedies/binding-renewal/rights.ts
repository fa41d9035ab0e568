import { KINDS, pluralOf } from "../../core/kinds";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Right } from "../../core/readers";
import type { BindingView } from "../../core/views";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/**
 * What the API server asks of whoever changes a binding or creates one: the write itself, and `bind` on that very role, in the namespace
 * of the binding (kubernetes/kubernetes pkg/registry/rbac/rolebinding/policybased/storage.go and rbac/escalation_check.go,
 * BindingAuthorized). It would also do to hold every permission in the role; who relies on that gives the operator more than `bind`.
 */
export function rightsFor(
  binding: Pick<BindingView | BindingStatus, "kind" | "name" | "namespace" | "roleRef">,
  verb: "patch" | "create",
): Right[] {
  const { kind, name, namespace, roleRef } = binding;
  const within = kind === "RoleBinding" && namespace !== undefined ? { namespace } : {};
  const write = { apiGroup: RBAC_GROUP, resource: KINDS[kind].plural, verb, ...within };
  return [
    // Nobody can be given the right to create by name.
    verb === "create" ? write : { ...write, name },
    ...(roleRef === undefined
      ? []
      : [
          {
            apiGroup: RBAC_GROUP,
            resource: pluralOf(roleRef.kind) ?? roleRef.kind,
            verb: "bind",
            name: roleRef.name,
            ...within,
          },
        ]),
  ];
}

/** The rule to add, as YAML in one line. */
export function ruleOf({ apiGroup, resource, verb, name }: Right): string {
  // Names of roles may hold brackets and commas: unquoted, one could turn this into another rule.
  const names = name === undefined || verb !== "bind" ? "" : `, resourceNames: [${JSON.stringify(name)}]`;
  return `{apiGroups: [${apiGroup}], resources: [${resource}]${names}, verbs: [${verb}]}`;
}
