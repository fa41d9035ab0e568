import type { BindingRenewalSpec, BindingStatus } from "../../../api/controller-resilience";
import { refOfGone } from "../intents";
import type { GoneBinding } from "../observed";
import { isBeforeExpiry, withoutRenewalPlan } from "../record";
import { isListed } from "../scope";
import { creationOf, nameOf } from "../wording";
import { type BindingFinding, eventOnEntering } from "./finding";

/** What to report for a binding that is gone. The operator never recreates access. Pure and total. */
export function planGone({ record, seenMs }: GoneBinding, spec: BindingRenewalSpec): BindingFinding {
  const listed = isListed(spec, record.kind, record.name);
  const isRevoked = record.state === "Revoked" || (record.state !== "Expired" && isBeforeExpiry(record, seenMs));
  return isRevoked ? revocation(record, listed, record.state) : expired(record, listed);
}

/** The finding for a binding that was deleted before its expiry, from the start of its deletion on. */
export function revocation(
  record: BindingStatus,
  listed: boolean,
  before: BindingStatus["state"] | undefined,
): BindingFinding {
  const what = `${nameOf(record)} was deleted before its expiry at ${record.expiryTime ?? ""}, which is a revocation`;
  return final(record, { state: "Revoked", reason: "Revoked", event: "BindingRevoked", what, listed, before });
}

function expired(record: BindingStatus, listed: boolean): BindingFinding {
  const what = `${nameOf(record)} expired at ${record.expiryTime ?? ""} and was deleted`;
  const before = record.state;
  return final(record, { state: "Expired", reason: "Expired", event: "BindingExpired", what, listed, before });
}

interface Ending {
  readonly state: "Revoked" | "Expired";
  readonly reason: "Revoked" | "Expired";
  readonly event: string;
  readonly what: string;
  readonly listed: boolean;
  readonly before: BindingStatus["state"] | undefined;
}

/** The author of the spec still asks for a listed binding, so its absence is a problem. An unlisted one is no longer needed. */
function final(record: BindingStatus, { state, reason, event, what, listed, before }: Ending): BindingFinding {
  const sentence = `${what}; the operator never recreates access. If it is still needed: ${creationOf(record)}.`;
  return {
    status: listed ? "False" : "True",
    reason,
    sentence,
    entry: { ...withoutRenewalPlan(record), state },
    isStalled: listed,
    ...eventOnEntering(state, before, { type: "Warning", reason: event, note: sentence }, refOfGone(record)),
  };
}
