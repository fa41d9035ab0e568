import { Reason } from "../../api/conditions";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import type { Announcement } from "../../core/remedy";

/** What there is to say and to do about one binding. */
export interface Finding {
  readonly status: "True" | "False";
  readonly reason: Reason;
  readonly sentence: string;
  /** What status tells of it from now on. */
  readonly entry?: BindingStatus;
  readonly intent?: Intent;
  readonly announcement?: Announcement;
  /** A person is needed. */
  readonly isStalled?: boolean;
  /** When something about it changes by itself, in milliseconds since the epoch. */
  readonly nextMs?: readonly number[];
}

/** Worst first: the first of these among all findings becomes the condition's reason. */
const BY_SEVERITY: readonly Reason[] = [
  Reason.RenewalForbidden,
  Reason.MalformedExpiry,
  Reason.RenewalContested,
  Reason.BindingRefused,
  Reason.Expired,
  Reason.Revoked,
  Reason.RenewalEnded,
  Reason.WouldRenew,
  Reason.BindingNotFound,
  Reason.TargetNotFound,
  Reason.ExpiringSoon,
  Reason.Current,
  Reason.NoBindings,
];

/** What is False comes before what is True. */
export function bySeverity(a: Finding, b: Finding): number {
  const rank = ({ status, reason }: Finding): number =>
    (status === "False" ? 0 : BY_SEVERITY.length) + BY_SEVERITY.indexOf(reason);
  return rank(a) - rank(b);
}
