import { missingRights, type Need } from "./cluster/rights";
import { PEPR_NAMESPACE, peprStoreNames } from "./cluster/pepr-store";
import { RESOURCES } from "./cluster/resources";
import type { Api } from "./cluster/api";
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
export function allNeeds(remedies: readonly Pick<Remedy, "key" | "may">[], places: Places): Need[] {
  const needs: Need[] = [
    ...ownPermissions.map(permission => ({ ...permission, by: ITSELF })),
    ...remedies.flatMap(({ key, may }) => may.map(permission => ({ ...permission, by: key }))),
  ];
  const { watchNamespaces, lease, moduleId } = places;
  const there = watchNamespaces.flatMap(namespace => needs.map(need => ({ ...need, namespace })));
  return [...(watchNamespaces.length === 0 ? needs : there), ...leaseNeeds(lease), ...storeNeeds(moduleId)];
}

/**
 * Says, in one line each, what the operator may not do and what does not work without it; one line if it may do all of it.
 *
 * @throws whatever the client throws
 */
export async function reviewRights(api: Pick<Api, "json">, needs: readonly Need[], log: Log): Promise<void> {
  // What is of no namespace may be needed in several, and is said once.
  const missing = new Set(await missingRights(api, needs));
  for (const sentence of missing) log.warn({}, `the operator ${sentence}`);
  if (missing.size === 0) log.info({ needs: needs.length }, "the operator has all its rights");
}

function leaseNeeds({ namespace, name }: Places["lease"]): Need[] {
  const { group: apiGroup, plural: resource } = RESOURCES.leases;
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
  const { group: apiGroup, plural: resource } = RESOURCES.peprStores;
  const why = "Pepr reads its store before it watches; until then changes are seen by the timed full pass.";
  const store = { apiGroup, resource, namespace: PEPR_NAMESPACE, by: ITSELF, why };
  return [
    ...peprStoreNames(moduleId).map(name => ({ ...store, name, verbs: ["get", "list", "watch", "patch"] })),
    { ...store, verbs: ["create"] },
  ];
}
