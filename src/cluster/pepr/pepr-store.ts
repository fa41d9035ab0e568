import { TerminalError } from "../../core/errors";
import type { Api } from "../http/api";
import { describeCall, pathOf } from "../http/resources";
import { KINDS } from "../../core/kinds";

/** Where Pepr keeps its stores. */
export const PEPR_NAMESPACE = "pepr-system";

/** The two stores of a Pepr module; both are read at its start, and made if they are missing. */
export function peprStoreNames(moduleId: string): readonly string[] {
  return ["store", "schedule"].map(store => `pepr-${moduleId}-${store}`);
}

/**
 * Resolves if Pepr could read its store now, whether it is there or not. Pepr itself tries once, and never watches if that fails.
 *
 * @throws TerminalError without the definition of PeprStores, and whatever the client throws
 */
export async function readPeprStore(api: Pick<Api, "jsonOrNull">, name: string): Promise<void> {
  const place = { namespace: PEPR_NAMESPACE };
  const stores = await api.jsonOrNull({
    what: describeCall("list", KINDS.PeprStore, place),
    path: pathOf(KINDS.PeprStore, place),
    // By name, since the right to list is confined to it.
    query: { fieldSelector: `metadata.name=${name}` },
  });
  if (stores === null) throw new TerminalError("the API server does not know peprstores: install deploy/");
}
