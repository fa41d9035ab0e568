import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import { MANAGER } from "../../api/names";
import { objectOf, timeOf } from "../../core/json";
import { present, type Received } from "./received";

/** One entry of metadata.managedFields. */
export type ManagedFields = Received<V1ManagedFieldsEntry>;

/** Managers that write status or defaults, not a user's intent. */
const CONTROL_PLANE = ["kube-controller-manager", "kube-apiserver"];

/** Returns the last other manager in managedFields that wrote the object without its subresources. */
export function lastManagerOf(fields: readonly ManagedFields[]): string | undefined {
  const others = writersOf(fields).filter(({ manager }) => manager !== MANAGER && !CONTROL_PLANE.includes(manager));
  return others[0]?.manager;
}

/** Returns when the operator last wrote the object without its subresources, according to managedFields. */
export function lastWriteMsOf(fields: readonly ManagedFields[]): number | undefined {
  return writersOf(fields).find(({ manager }) => manager === MANAGER)?.atMs;
}

/**
 * Returns by key when these labels and annotations were written, if that was after `ms`. managedFields has one time per manager: if the
 * manager has written another field since, the time is too late.
 */
export function marksWrittenAfter(
  ms: number,
  keys: readonly string[],
  fields: readonly ManagedFields[],
): Record<string, number> {
  const written = keys.map(key => {
    const times = fields.filter(entry => isMarkOf(entry, key)).flatMap(({ time }) => timeOf(time) ?? []);
    return [key, Math.min(...times)] as const;
  });
  return Object.fromEntries(written.filter(([, atMs]) => atMs > ms && atMs < Infinity));
}

/** fieldsV1 has no schema, and a client can write it, so each level of it is checked. */
function isMarkOf({ fieldsV1 }: ManagedFields, key: string): boolean {
  const metadata = objectOf(objectOf(fieldsV1)["f:metadata"]);
  return ["f:labels", "f:annotations"].some(place => Object.hasOwn(objectOf(metadata[place]), `f:${key}`));
}

/** Managers that wrote the object and not a subresource, latest first. */
function writersOf(fields: readonly ManagedFields[]): { readonly manager: string; readonly atMs?: number }[] {
  return fields
    .filter(({ subresource }) => (subresource ?? "") === "")
    .map(({ manager, time }) => ({ manager: manager ?? "", ...present({ atMs: timeOf(time) }) }))
    .toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0));
}
