import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import { describeCall, type Resource } from "../../../cluster/http/resources";
import { bindingView } from "../../../cluster/read/binding-view";
import { clusterObjectOfOursView, objectView } from "../../../cluster/read/object-view";
import { namespaceView, serviceAccountView } from "../../../cluster/read/views";
import { ForbiddenError, GoneError } from "../../../core/errors";
import type { JsonObject } from "../../../core/json";
import { KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import type { AuditFacts } from "../audit/facts";
import { workloadFacts } from "../audit/views";
import type { Session } from "../session";

/** What the operator knows of namespaces. */
export type ClusterLists = Required<Pick<AuditFacts, "workloads" | "accounts" | "bindings">> &
  Pick<AuditFacts, "namespaces" | "objects" | "clusterObjects">;

/** Lists what the operator decides by which workloads to protect. A list that was refused is empty, and noted. */
export async function readClusterLists(
  session: Session,
  namespace: string | undefined,
  note: (sentence: string) => void,
): Promise<ClusterLists> {
  const inPlace = namespace === undefined ? {} : { place: { namespace } };
  const some = <T>(resource: Resource, view: (raw: JsonObject) => T | null): Promise<T[] | undefined> =>
    list(session, { resource, ...inPlace }, view, note);
  const all = <T>(resource: Resource, view: (raw: JsonObject) => T | null, only?: string): Promise<T[] | undefined> =>
    list(session, { resource, ...(only && { fieldSelector: `metadata.name=${only}` }) }, view, note);
  const [namespaces, accounts, roleBindings, clusterRoleBindings, objects, clusterObjects, ...workloads] =
    await Promise.all([
      all(KINDS.Namespace, namespaceView, namespace),
      some(KINDS.ServiceAccount, serviceAccountView),
      some(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw)),
      all(KINDS.ClusterRoleBinding, raw => bindingView("ClusterRoleBinding", raw)),
      some(KINDS.ControllerResilience, raw => objectView(raw)?.object ?? null),
      all(KINDS.ClusterControllerResilience, raw => clusterObjectOfOursView(raw)?.object ?? null),
      ...WORKLOAD_KINDS.map(kind => some(KINDS[kind], raw => workloadFacts(kind, raw))),
    ]);
  return {
    ...(namespaces === undefined ? {} : { namespaces }),
    accounts: accounts ?? [],
    bindings: [...(roleBindings ?? []), ...(clusterRoleBindings ?? [])],
    objects: objects ?? [],
    clusterObjects: clusterObjects ?? [],
    workloads: workloads.flatMap(found => found ?? []),
  };
}

/** Returns the lists with a ClusterControllerResilience as if it were applied. */
export function withClusterObject(lists: ClusterLists, object: ClusterControllerResilience): ClusterLists {
  const others = lists.clusterObjects.filter(({ metadata }) => metadata.name !== object.metadata.name);
  return { ...lists, clusterObjects: [...others, object] };
}

async function list<T>(
  session: Session,
  request: Parameters<Session["list"]>[0],
  view: (raw: JsonObject) => T | null,
  note: (sentence: string) => void,
): Promise<T[] | undefined> {
  try {
    return (await session.list(request, view)).filter(item => item !== null);
  } catch (error) {
    // The operator's own kinds may not be installed yet.
    if (error instanceof GoneError) return [];
    if (!(error instanceof ForbiddenError)) throw error;
    note(`${describeCall("list", request.resource, request.place)}: no rights (403)`);
    return undefined;
  }
}
