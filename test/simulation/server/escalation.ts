import { objectOf } from "../../../src/core/json";
import type { Access } from "./access";
import { type Obj, same } from "./objects";
import type { Call } from "./serve";
import { forbidden } from "./validation";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Who writes a binding must have `bind` on its role. A real server also lets pass who has all rights of the role, which the operator never relies on. */
export function refuseEscalation(
  { draft, old }: { draft: Obj; old: Obj | undefined },
  { info, identity, namespace }: Call,
  access: Access,
): void {
  const isFree = info.group !== RBAC_GROUP || identity.groups.includes("system:masters");
  if (isFree || isCollected(draft, old)) return;
  const { kind, name = "" } = objectOf(draft["roleRef"]) as { kind?: string; name?: string };
  const resource = kind === "ClusterRole" ? "clusterroles" : "roles";
  const place = namespace === undefined ? {} : { namespace };
  if (access.authorize(identity, { verb: "bind", group: RBAC_GROUP, resource, name, ...place })) return;
  const why = `user "${identity.user}" is attempting to grant RBAC permissions not currently held`;
  throw forbidden(info, draft.metadata.name, why);
}

/** Only references and finalizers change: the garbage collector. */
function isCollected(draft: Obj, old: Obj | undefined): boolean {
  if (old === undefined) return false;
  const plain = (object: Obj): object => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: 0, finalizers: 0, managedFields: 0 },
  });
  return same(plain(draft), plain(old));
}
