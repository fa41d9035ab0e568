import type { Api } from "./api";
import { pathOf, RESOURCES, describeCall } from "./resources";

/** Where Pepr keeps its stores. */
export const PEPR_NAMESPACE = "pepr-system";

/** The two stores of a Pepr module; both are read at its start, and made if they are missing. */
export function peprStoreNames(moduleId: string): readonly string[] {
  return ["store", "schedule"].map(store => `pepr-${moduleId}-${store}`);
}

/**
 * Resolves if Pepr could read its store now, whether it is there or not. Pepr itself tries once, and never watches if that fails.
 *
 * @throws whatever the client throws, such as GoneError without the definition of PeprStores
 */
export async function readPeprStore(api: Pick<Api, "json">, name: string): Promise<void> {
  const place = { namespace: PEPR_NAMESPACE };
  // By name, since the right to list is confined to it.
  const query = { fieldSelector: `metadata.name=${name}` };
  const what = describeCall("list", RESOURCES.peprStores, place);
  await api.json({ what, path: pathOf(RESOURCES.peprStores, place), query });
}
