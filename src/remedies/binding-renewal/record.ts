import type { BindingStatus } from "../../api/controller-resilience";
import type { RenewalClaim } from "../../core/intent";
import { toSeconds } from "../../core/time";

/** 0000-01-01T00:00:00Z, the first time in RFC 3339. */
const FIRST_MS = -62_167_219_200_000;

/** RFC 3339 in whole seconds, as in status. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.max(ms, FIRST_MS)));
}

/** `RoleBinding/edit`: identifies a binding in status, in the cluster and in a plan. */
export function bindingId(binding: Pick<BindingStatus, "kind" | "name">): string {
  return `${binding.kind}/${binding.name}`;
}

/** Reports whether the entry holds enough to decide on the binding after it is gone. */
export function isRecorded({ expiryTime, roleRef, subjects }: BindingStatus): boolean {
  return expiryTime !== undefined && roleRef !== undefined && subjects !== undefined;
}

/** Reports whether the binding is gone and is never restored. */
export function isFinal({ state }: BindingStatus): boolean {
  return state === "Revoked" || state === "Expired";
}

/** Reports whether the time is before the binding's expiry: a binding deleted then was revoked. */
export function isBeforeExpiry({ expiryTime }: BindingStatus, atMs: number): boolean {
  return atMs < Date.parse(expiryTime ?? "");
}

/**
 * Reports whether another writer has reset the expiry since the renewal. Only a renewal under this spec.bindingRenewal counts: after a change
 * of the block the operator tries again. Entries of earlier versions have no hash, and count for every block.
 */
export function isReverted(record: BindingStatus | undefined, expiryMs: number, specHash: string): boolean {
  if (record?.renewedUntil === undefined || (record.specHash ?? specHash) !== specHash) return false;
  return expiryMs < Date.parse(record.renewedUntil);
}

/** The entry without a planned renewal. */
export function withoutRenewalPlan(entry: BindingStatus): BindingStatus {
  const copy = { ...entry };
  delete copy.renewTime;
  delete copy.renewingUntil;
  return copy;
}

/** The entry after a renewal. */
export function afterRenewal(entry: BindingStatus, { expiryTime, specHash }: RenewalClaim, now: Date): BindingStatus {
  const times = { lastRenewalTime: toSeconds(now), renewedUntil: expiryTime, specHash };
  return { ...withoutRenewalPlan(entry), ...times };
}
