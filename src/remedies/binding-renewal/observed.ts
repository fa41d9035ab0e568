import type { BindingStatus, RenewalTargetStatus } from "../../api/controller-resilience";
import type { Mode } from "../../core/mode";
import type { Right } from "../../core/readers";
import type { BindingKind, BindingView } from "../../core/views";
import type { WithoutSlot } from "./slots";

/** The input of a plan. */
export interface ObservedBindings extends Scope {
  readonly mode: Mode;
  /** The author has the rights that the remedy uses. */
  readonly isAuthorChecked: boolean;
  /** Hash of spec.bindingRenewal. */
  readonly specHash: string;
  /** Bindings that exist and have a slot in status: those listed, or those with an expiry whose subjects include a target's ServiceAccount. */
  readonly living: readonly LivingBinding[];
  /** Bindings in status that a live read did not find. */
  readonly gone: readonly GoneBinding[];
  /** Listed bindings that do not exist. */
  readonly absent: readonly { readonly kind: BindingKind; readonly name: string }[];
  readonly withoutSlot: WithoutSlot;
  readonly changed: readonly Changed[];
  /** status.renewalTargets; undefined if it stays absent. */
  readonly pins: readonly RenewalTargetStatus[] | undefined;
  /** Entries of status.bindings that this pass does not change: a target is missing, or the binding has no slot any more. */
  readonly kept: readonly BindingStatus[];
}

/** Whose bindings are meant. */
export interface Scope {
  /** Of the ControllerResilience. */
  readonly namespace: string;
  /** ServiceAccounts that the targets run as and that are pinned; read only if the spec lists no bindings. */
  readonly serviceAccounts: readonly string[];
  /** ServiceAccounts whose bindings status records: the pinned ones, whether or not a target runs as them now. */
  readonly pinned: readonly string[];
  /** Targets without a workload: their ServiceAccounts are unknown. */
  readonly missingTargets: readonly string[];
}

/** A ServiceAccount that a target runs as, and did not when its author was checked. */
export interface Changed {
  /** Such as `Deployment/web`. */
  readonly workload: string;
  readonly serviceAccount: string;
  /** A binding of it expires. */
  readonly isBound: boolean;
}

/** A binding that exists. */
export interface LivingBinding {
  readonly view: BindingView;
  /** Its entry in status; absent if that describes a predecessor of the same name. */
  readonly record?: BindingStatus;
  /** Rights that a renewal needs and the operator lacks; reviewed from the first warning on. */
  readonly lacks: readonly Right[];
  /** What the role allows and no binding by the operator may; reviewed with the rights. Absent: nothing. */
  readonly excess?: string;
  /** Why the rights or the role could not be reviewed now: nothing is written until they can. */
  readonly unread?: string;
}

/** A binding that is in status and does not exist. */
export interface GoneBinding {
  readonly record: BindingStatus;
  /** Time of the read that did not find it, in milliseconds since the epoch. */
  readonly seenMs: number;
}
