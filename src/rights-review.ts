import { type Answers, missingRights, type Need } from "./cluster/read/rights";
import { PEPR_NAMESPACE, peprStoreNames } from "./cluster/pepr/framework";
import { isClusterScoped, KINDS } from "./core/kinds";
import type { Api } from "./cluster/http/api";
import type { Log } from "./core/ports";
import type { Remedy } from "./core/remedy";
import { ownPermissions } from "./rights";

const ITSELF = "the operator itself";

export interface Places {
  /** Empty: all namespaces. */
  readonly watchNamespaces: readonly string[];
  readonly lease: { readonly namespace: string; readonly name: string };
  /** UUID of the Pepr module in package.json. */
  readonly moduleId: string;
}

/** Returns all needed permissions: of the operator and its remedies, and for its Lease and Pepr's stores in their namespaces. */
export function allNeeds(remedies: readonly Pick<Remedy, "block" | "permissions">[], places: Places): Need[] {
  const needs: Need[] = [
    ...ownPermissions.map(permission => ({ ...permission, by: ITSELF })),
    ...remedies.flatMap(({ block, permissions }) => permissions.map(permission => ({ ...permission, by: block }))),
  ];
  const { watchNamespaces, lease, moduleId } = places;
  const there = needs.flatMap(need => {
    if (watchNamespaces.length === 0) return need;
    // In a namespace one can be allowed to get its own Namespace, not to list them.
    if (need.resource === KINDS.Namespace.plural) {
      return watchNamespaces.map(name => ({ ...need, verbs: ["get"], namespace: name, name }));
    }
    // Cluster-scoped permissions are reviewed once.
    const isOfAll = need.url !== undefined || isClusterScoped(need.resource);
    return isOfAll ? need : watchNamespaces.map(namespace => ({ ...need, namespace }));
  });
  return [...there, ...leaseNeeds(lease), ...storeNeeds(moduleId)];
}

/**
 * Logs each missing permission and what does not work without it, or that none is missing. A permission that the chart grants only on
 * request is no warning.
 *
 * @param answers results of earlier attempts, which are not requested again
 * @throws any error of the client
 */
export async function reviewRights(
  api: Pick<Api, "json">,
  needs: readonly Need[],
  log: Log,
  answers: Answers = new Map(),
): Promise<void> {
  const missing = await missingRights(api, needs, answers);
  for (const { sentence, grantedBy } of missing) {
    if (grantedBy === undefined) log.warn({}, `the operator ${sentence}`);
    else log.info({ grantedBy }, `the operator ${sentence}`);
  }
  if (missing.length === 0) log.info({ needs: needs.length }, "the operator has all its rights");
}

function leaseNeeds({ namespace, name }: Places["lease"]): Need[] {
  const { group: apiGroup, plural: resource } = KINDS.Lease;
  const lease = {
    apiGroup,
    resource,
    namespace,
    by: ITSELF,
    why: "without its Lease it never leads and does nothing.",
  };
  return [
    { ...lease, name, verbs: ["get", "update"] },
    { ...lease, verbs: ["create"] },
  ];
}

function storeNeeds(moduleId: string): Need[] {
  const { group: apiGroup, plural: resource } = KINDS.PeprStore;
  const why = "Pepr reads its store before it watches; until then only the operator's own watch sees changes.";
  const store = { apiGroup, resource, namespace: PEPR_NAMESPACE, by: ITSELF, why };
  return [
    ...peprStoreNames(moduleId).map(name => ({ ...store, name, verbs: ["get", "list", "watch", "patch"] })),
    { ...store, verbs: ["create"] },
  ];
}
