import { type Answers, missingRights, type Need } from "./cluster/read/rights";
import { PEPR_NAMESPACE, peprStoreNames } from "./cluster/pepr/pepr-store";
import { isClusterScoped, KINDS } from "./core/kinds";
import type { Api } from "./cluster/http/api";
import type { Log } from "./core/ports";
import type { Remedy } from "./core/remedy";
import { ownPermissions } from "./rights";

/** What the operator is called in a sentence about its rights, where no remedy is meant. */
const ITSELF = "the operator itself";

/** Where the rights have to hold. */
export interface Places {
  /** Whose objects are looked after; empty: those of all. */
  readonly watchNamespaces: readonly string[];
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Of Pepr, as package.json has it. */
  readonly moduleId: string;
}

/** Everything that the operator needs: for itself, for each remedy, and by name in the namespaces of its Lease and of Pepr's stores. */
export function allNeeds(remedies: readonly Pick<Remedy, "block" | "permissions">[], places: Places): Need[] {
  const needs: Need[] = [
    ...ownPermissions.map(permission => ({ ...permission, by: ITSELF })),
    ...remedies.flatMap(({ block, permissions }) => permissions.map(permission => ({ ...permission, by: block }))),
  ];
  const { watchNamespaces, lease, moduleId } = places;
  const there = needs.flatMap(need => {
    // What is of no namespace is asked for once, however many namespaces are looked after.
    const isOfAll = watchNamespaces.length === 0 || need.url !== undefined || isClusterScoped(need.resource);
    return isOfAll ? need : watchNamespaces.map(namespace => ({ ...need, namespace }));
  });
  return [...there, ...leaseNeeds(lease), ...storeNeeds(moduleId)];
}

/**
 * Says, in one line each, what the operator may not do and what does not work without it; one line if it may do all of it.
 *
 * @param answers those of tries before, which failed in the middle; they are not asked for again
 * @throws whatever the client throws
 */
export async function reviewRights(
  api: Pick<Api, "json">,
  needs: readonly Need[],
  log: Log,
  answers: Answers = new Map(),
): Promise<void> {
  const missing = await missingRights(api, needs, answers);
  for (const sentence of missing) log.warn({}, `the operator ${sentence}`);
  if (missing.length === 0) log.info({ needs: needs.length }, "the operator has all its rights");
}

function leaseNeeds({ namespace, name }: Places["lease"]): Need[] {
  const { group: apiGroup, plural: resource } = KINDS.Lease;
  const lease = {
    apiGroup,
    resource,
    namespace,
    by: ITSELF,
    why: "without its Lease it never leads, and does nothing.",
  };
  return [
    { ...lease, name, verbs: ["get", "update"] },
    { ...lease, verbs: ["create"] },
  ];
}

function storeNeeds(moduleId: string): Need[] {
  const { group: apiGroup, plural: resource } = KINDS.PeprStore;
  const why = "Pepr reads its store before it watches; until then changes are seen by the timed full pass.";
  const store = { apiGroup, resource, namespace: PEPR_NAMESPACE, by: ITSELF, why };
  return [
    ...peprStoreNames(moduleId).map(name => ({ ...store, name, verbs: ["get", "list", "watch", "patch"] })),
    { ...store, verbs: ["create"] },
  ];
}
