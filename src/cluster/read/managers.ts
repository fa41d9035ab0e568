import { MANAGER } from "../../api/names";
import { type JsonObject, objectOf, textOf, timeOf } from "../../core/json";

/** Managers that write status or defaults, never what people mean. */
const CONTROL_PLANE = ["kube-controller-manager", "kube-apiserver"];

/** Whoever else wrote the object itself last, as its managedFields tell; undefined where nobody did. */
export function lastManagerOf(fields: readonly JsonObject[]): string | undefined {
  const others = writersOf(fields).filter(({ manager }) => manager !== MANAGER && !CONTROL_PLANE.includes(manager));
  return others[0]?.manager;
}

/** When the operator wrote the object itself last, as its managedFields tell; undefined where it never did. */
export function lastWriteMsOf(fields: readonly JsonObject[]): number | undefined {
  return writersOf(fields).find(({ manager }) => manager === MANAGER)?.atMs;
}

/**
 * When such labels and annotations were written, by key, as managedFields tell, where that was after a moment. A manager has one time for all
 * that it owns, so one that has written something else since makes them look younger than they are.
 */
export function marksWrittenAfter(
  ms: number,
  keys: readonly string[],
  fields: readonly JsonObject[],
): Record<string, number> {
  const written = keys.map(key => {
    const times = fields.filter(entry => isMarkOf(entry, key)).flatMap(entry => timeOf(entry["time"]) ?? []);
    return [key, Math.min(...times)] as const;
  });
  return Object.fromEntries(written.filter(([, atMs]) => atMs > ms && atMs < Infinity));
}

function isMarkOf(entry: JsonObject, key: string): boolean {
  const metadata = objectOf(objectOf(entry["fieldsV1"])["f:metadata"]);
  return ["f:labels", "f:annotations"].some(place => Object.hasOwn(objectOf(metadata[place]), `f:${key}`));
}

/** Who wrote the object itself, and not its status; the last one first. */
function writersOf(fields: readonly JsonObject[]): { readonly manager: string; readonly atMs?: number }[] {
  return fields
    .filter(entry => (textOf(entry["subresource"]) ?? "") === "")
    .map(entry => {
      const atMs = timeOf(entry["time"]);
      return { manager: textOf(entry["manager"]) ?? "", ...(atMs === undefined ? {} : { atMs }) };
    })
    .toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0));
}
