import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";

/** A role that the operator may bind. */
export interface BindableRole {
  readonly kind: "Role" | "ClusterRole";
  readonly name: string;
  /** Namespace of a Role; the right is then granted in this namespace only. */
  readonly namespace?: string;
}

/**
 * Grants the operator the right to renew bindings of a role, as an installer does: the API server requires `bind` even for a change of an
 * annotation of such a binding. With `get` the operator reads the role's rules.
 */
export async function letOperatorBind(client: ClusterClient, role: BindableRole): Promise<void> {
  const name = `controller-resilience-bind-${role.name}`;
  const scope = role.namespace === undefined ? [] : ["-n", role.namespace];
  const kind = role.namespace === undefined ? "clusterrole" : "role";
  const resource = `${role.kind.toLowerCase()}s.rbac.authorization.k8s.io`;
  await client.output([
    "create",
    kind,
    name,
    ...scope,
    "--verb=bind,get",
    `--resource=${resource}`,
    `--resource-name=${role.name}`,
  ]);
  const subject = `--serviceaccount=${OPERATOR.namespace}:${OPERATOR.serviceAccount}`;
  await client.output(["create", `${kind}binding`, name, ...scope, `--${kind}=${name}`, subject]);
}
