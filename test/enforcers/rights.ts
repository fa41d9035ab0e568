import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { roleBinding } from "../cluster/objects";

/** A role that the operator may bind. */
export interface BindableRole {
  readonly kind: "Role" | "ClusterRole";
  readonly name: string;
  /** Namespace of a Role; the right is then granted in this namespace only. */
  readonly namespace?: string;
}

const GROUP = "rbac.authorization.k8s.io";

/**
 * Grants the operator the right to renew bindings of a role, as an installer does: the API server requires `bind` even for a change of an
 * annotation of such a binding. With `get` the operator reads the role's rules.
 */
export async function letOperatorBind(client: ClusterClient, role: BindableRole): Promise<void> {
  const name = `controller-resilience-bind-${role.name}`;
  const kind = role.namespace === undefined ? "ClusterRole" : "Role";
  const metadata = role.namespace === undefined ? { name } : { name, namespace: role.namespace };
  const bindings = kind === "Role" ? ["rolebindings"] : ["rolebindings", "clusterrolebindings"];
  const rules = [
    { resources: [`${role.kind.toLowerCase()}s`], resourceNames: [role.name], verbs: ["bind", "get"] },
    { resources: bindings, verbs: ["patch"] },
  ].map(rule => ({ apiGroups: [GROUP], ...rule }));
  const operator = { namespace: OPERATOR.namespace, name: OPERATOR.serviceAccount };
  await client.apply([
    { apiVersion: `${GROUP}/v1`, kind, metadata, rules },
    roleBinding(metadata, { kind, name }, operator),
  ]);
}
