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

/** Reports whether the entry holds enough to report on the binding after it is gone. */
export function isRecorded({ expiryTime, subjects }: BindingStatus): boolean {
  return expiryTime !== undefined && subjects !== undefined;
}

/** Reports whether the binding is gone. */
export function isFinal({ state }: BindingStatus): boolean {
  return state === "Revoked" || state === "Expired";
}

/** Reports whether the time is before the binding's expiry: a binding deleted then was revoked. */
export function isBeforeExpiry({ expiryTime }: BindingStatus, atMs: number): boolean {
  return atMs < Date.parse(expiryTime ?? "");
}

/** Which object has which expiry. */
export interface Expiring {
  /** Absent if the binding is gone. */
  readonly uid?: string | undefined;
  /** In milliseconds since the epoch. */
  readonly expiryMs: number;
}

/**
 * Reports whether another writer has moved the expiry to an earlier time than status records: a revocation, or a tool that resets the
 * binding. Only a time recorded under this spec.bindingRenewal counts: after a change of the block the operator renews again. Entries of
 * earlier versions have no hash, and count for every block.
 */
export function isContested(record: BindingStatus | undefined, expiring: Expiring, specHash: string): boolean {
  if (record === undefined || (record.specHash ?? specHash) !== specHash) return false;
  return wholeSecondsMs(expiring.expiryMs) < latestMs(record);
}

/** The latest expiry of the binding under this spec.bindingRenewal, as an entry records it. */
export function latestExpiry(
  record: BindingStatus | undefined,
  expiring: Expiring | undefined,
  specHash: string,
): Pick<BindingStatus, "latestExpiryTime" | "specHash"> {
  const isNewer = record !== undefined && (record.specHash ?? specHash) === specHash;
  const recordedMs = isNewer ? latestMs(record) : -Infinity;
  const isCurrent = expiring !== undefined && !(isNewer && isContested(record, expiring, specHash));
  const ms = isCurrent ? expiring.expiryMs : recordedMs;
  return Number.isFinite(ms) ? { latestExpiryTime: timeOf(ms), specHash } : {};
}

/** Entries of earlier versions have no latestExpiryTime. -Infinity without any expiry. */
export function latestMs({ latestExpiryTime, renewedUntil, expiryTime }: BindingStatus): number {
  const times = latestExpiryTime === undefined ? [renewedUntil, expiryTime] : [latestExpiryTime];
  return Math.max(...times.map(time => Date.parse(time ?? "")).filter(ms => !Number.isNaN(ms)));
}

/** As status records it. */
function wholeSecondsMs(ms: number): number {
  return Date.parse(timeOf(ms));
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
  const times = { lastRenewalTime: toSeconds(now), renewedUntil: expiryTime, latestExpiryTime: expiryTime, specHash };
  return { ...withoutRenewalPlan(entry), ...times };
}
