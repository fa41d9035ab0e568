import { TerminalError } from "../../core/errors";
import type { Api } from "../http/api";
import { describeCall, pathOf } from "../http/resources";
import { KINDS } from "../../core/kinds";

export const PEPR_NAMESPACE = "pepr-system";

/** The two stores of a Pepr module. Pepr reads both when it starts and creates them if they are missing. */
export function peprStoreNames(moduleId: string): readonly string[] {
  return ["store", "schedule"].map(store => `pepr-${moduleId}-${store}`);
}

/**
 * Resolves if Pepr can read its store now, even if the store does not exist. Pepr itself reads it once and never watches if that fails.
 *
 * @throws TerminalError without the CustomResourceDefinition, and any error of the client
 */
export async function readPeprStore(api: Pick<Api, "jsonOrNull">, name: string): Promise<void> {
  const place = { namespace: PEPR_NAMESPACE };
  const stores = await api.jsonOrNull({
    what: describeCall("list", KINDS.PeprStore, place),
    path: pathOf(KINDS.PeprStore, place),
    // RBAC permits the list by name only.
    query: { fieldSelector: `metadata.name=${name}` },
  });
  if (stores === null) throw new TerminalError("expected the resource peprstores, got none: install deploy/");
}
