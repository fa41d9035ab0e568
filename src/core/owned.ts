import { hash as hashOf } from "node:crypto";
import type { ControllerResilience } from "../api/controller-resilience";
import { FLOW_PREFIX, MANAGED_BY_LABEL, MANAGER, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../api/names";
import { objectOf, textOf } from "./json";
import { keyOf } from "./text";
import type { ClusterObjectView } from "./views";

// An object without a namespace can't have an owner in one (garbage collection would delete it at once), so what the operator makes
// outside of namespaces carries the uid of the ControllerResilience that it was made for, and goes by the finalizer.

/** Longest name of most objects: a DNS subdomain. */
const MAX_NAME = 253;

/** Hexadecimal digits of a hash in a name: of a thousand objects two are the same once in 10^9 clusters. */
const HASH_DIGITS = 16;

/** A ControllerResilience, to which objects belong. */
export type Owner = Pick<ControllerResilience, "metadata">;

/** Labels of an object that belongs to this ControllerResilience only. They select exactly the objects of this owner. */
export function ownerLabels({ metadata }: Owner): Record<string, string> {
  return { [MANAGED_BY_LABEL]: MANAGER, [OWNER_UID_LABEL]: metadata.uid };
}

/** Tells people which ControllerResilience it was made for: names are too long for a label. */
export function ownerAnnotations(owner: Owner): Record<string, string> {
  return { [OWNER_ANNOTATION]: keyOf(owner) };
}

/** Whether it was made by this operator, for whichever object. */
export function isManaged({ labels }: Pick<ClusterObjectView, "labels">): boolean {
  return labels[MANAGED_BY_LABEL] === MANAGER;
}

/** Whether it was made for this ControllerResilience. */
export function isOwnedBy(view: Pick<ClusterObjectView, "labels">, { metadata }: Owner): boolean {
  return isManaged(view) && view.labels[OWNER_UID_LABEL] === metadata.uid;
}

/** Whether {@link ownedName} may have made that name. A copy of an object has its labels, but another name. */
export function isOwnedName(prefix: string, name: string): boolean {
  const hash = name.slice(name.lastIndexOf("-") + 1);
  return name.startsWith(prefix) && hash.length === HASH_DIGITS && /^[0-9a-f]+$/.test(hash);
}

/** The level that a FlowSchema refers to. */
export function levelOf({ spec }: Pick<ClusterObjectView, "spec">): string | undefined {
  return textOf(objectOf(spec["priorityLevelConfiguration"])["name"]);
}

/** The quarantine level, to which throttled ServiceAccounts are assigned. */
export const QUARANTINE_LEVEL = `${FLOW_PREFIX}tar-pit`;

/**
 * A name that says what it is for, and that no other identity shares: the readable parts are cut to fit, and a hash of the identity
 * ends it.
 *
 * @param prefix of all such names; ends with a hyphen
 * @param readable for people; parts that are DNS labels or subdomains
 * @param identity what makes it another object
 */
export function ownedName(
  prefix: string,
  readable: readonly string[],
  identity: readonly string[],
  limit = MAX_NAME,
): string {
  // As JSON no two lists of parts are the same text.
  const hash = hashOf("sha256", JSON.stringify(identity), "hex").slice(0, HASH_DIGITS);
  const room = limit - prefix.length - hash.length - 1;
  // A dot or hyphen at the end of the cut would make an invalid name.
  const words = readable
    .join("-")
    .slice(0, Math.max(0, room))
    .replace(/[-.]+$/, "");
  return words === "" ? `${prefix}${hash}` : `${prefix}${words}-${hash}`;
}
