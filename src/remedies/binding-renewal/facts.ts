import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import type { Right } from "../../core/readers";
import type { BindingKind, BindingView } from "../../core/views";
import type { Unplaced } from "./room";

/** All that a decision rests on: plain data, as observed. */
export interface BindingRenewalFacts {
  readonly mode: "Enforce" | "Observe";
  /** Of the ControllerResilience. */
  readonly generation: number;
  /** Of the ControllerResilience: no binding reaches further. */
  readonly namespace: string;
  /** ServiceAccounts that the targets run as; read only where the spec lists no bindings. */
  readonly serviceAccounts: readonly string[];
  /** Targets that no workload matches (yet), so that their ServiceAccounts are not known. */
  readonly missingTargets: readonly string[];
  /** Bindings that exist: the listed ones, or those with an expiry that give rights to a ServiceAccount of the targets. */
  readonly living: readonly LivingBinding[];
  /** Bindings of which status tells and that don't exist any more, as a live read has confirmed. */
  readonly gone: readonly GoneBinding[];
  /** Listed bindings that don't exist. */
  readonly absent: readonly { readonly kind: BindingKind; readonly name: string }[];
  /** Bindings that nothing is done for, since status has no room for them. */
  readonly unplaced: Unplaced;
  /** What status tells of bindings that nothing can be said of now: a target is missing, or there is no room for more. */
  readonly kept: readonly BindingStatus[];
}

/** A binding, and what is known of it from before. */
export interface LivingBinding {
  readonly view: BindingView;
  /** Of this very object, not of a predecessor of the same name. */
  readonly record?: BindingStatus;
  /** Rights that the operator would need to renew it and does not have; asked for from the first warning on. */
  readonly lacks: readonly Right[];
}

/** A binding that has vanished. */
export interface GoneBinding {
  readonly record: BindingStatus;
  /** When it was seen to be gone, in milliseconds since the epoch. */
  readonly seenMs: number;
  /** Rights that the operator would need to restore it and does not have. */
  readonly lacks: readonly Right[];
}

/** The block of the spec. */
export type Spec = BindingRenewalSpec;

/** What tells one binding from another, in status as in the cluster. */
export function bindingId(binding: Pick<BindingStatus, "kind" | "name">): string {
  return `${binding.kind}/${binding.name}`;
}

/** Whether status tells enough of a binding to say more of it once it is gone; else it is as if it had never been seen. */
export function isRecorded({ expiryTime, roleRef, subjects }: BindingStatus): boolean {
  return expiryTime !== undefined && roleRef !== undefined && subjects !== undefined;
}

/** A binding that is gone, and stays away until somebody creates it. */
export function isFinal({ state }: BindingStatus): boolean {
  return state === "Revoked" || state === "Expired";
}

/** It went before its time, which only a person wants. */
export function wentEarly({ expiryTime }: BindingStatus, atMs: number): boolean {
  return atMs < Date.parse(expiryTime ?? "");
}

/**
 * Somebody has put the expiry back since it was renewed. Only what was renewed for this generation of the object counts: a change of
 * the object is a person's word that it is worth trying again.
 */
export function isPutBack(record: BindingStatus | undefined, expiryMs: number, generation: number): boolean {
  if (record?.renewedUntil === undefined || record.renewedGeneration !== generation) return false;
  return expiryMs < Date.parse(record.renewedUntil);
}
