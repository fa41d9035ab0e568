import type { BindingRenewalSpec, BindingStatus } from "../../../api/controller-resilience";
import { type Check, firstMatch } from "../../kit/checks";
import type { Expiry } from "../conventions";
import { refOf } from "../intents";
import type { LivingBinding, ObservedBindings } from "../observed";
import { latestExpiry, timeOf } from "../record";
import { renewUntilMs, type Schedule } from "../schedule";
import { isUndecided, refusalOf } from "../scope";
import { nameOf } from "../wording";
import { type BindingFinding, eventOnEntering } from "./finding";

/** A binding that exists, with everything that is computed from it. */
export interface LivingCase {
  readonly binding: LivingBinding;
  readonly observed: ObservedBindings;
  readonly spec: BindingRenewalSpec;
  readonly nowMs: number;
  /** The spec names it. */
  readonly listed: boolean;
  readonly expiry: Expiry;
  /** The author may not be allowed to read the binding: Observe mode without a list needs no rights. Only its name and expiry are shown. */
  readonly isPrivate: boolean;
  /** Undefined if the binding does not expire. */
  readonly schedule: Schedule | undefined;
}

const CHECKS: readonly Check<LivingCase, BindingFinding>[] = [
  hasSkipAnnotation,
  targetMissing,
  refused,
  malformed,
  neverExpires,
];

/** The finding for a binding that is not renewed whenever it expires; undefined for one that is. */
export function planExcluded(binding: LivingCase): BindingFinding | undefined {
  return firstMatch(CHECKS, binding);
}

function hasSkipAnnotation(excluded: LivingCase): BindingFinding | undefined {
  if (!excluded.binding.view.skip) return undefined;
  const sentence = `${nameOf(excluded.binding.view)} is not renewed: it has the skip annotation.`;
  return { status: "True", reason: "Current", sentence, entry: basicEntry(excluded, "Skipped") };
}

/** A missing target may run as one of its subjects. */
function targetMissing({ binding, observed, listed }: LivingCase): BindingFinding | undefined {
  const { view, record } = binding;
  if (listed || !isUndecided(view, observed)) return undefined;
  const sentence = `${nameOf(view)} is not renewed yet: a missing target may run as one of its ServiceAccounts.`;
  return { status: "True", reason: "Current", sentence, ...(record === undefined ? {} : { entry: record }) };
}

function refused(excluded: LivingCase): BindingFinding | undefined {
  const { binding, listed, schedule, nowMs } = excluded;
  const why = foreignSubject(excluded) ?? ownership(excluded);
  if (why === undefined) return undefined;
  const sentence = `${nameOf(binding.view)} is not renewed: it ${why}.`;
  // The end of an unlisted binding is of interest only from its first warning on.
  const matters = listed || (schedule !== undefined && nowMs >= schedule.warnAtMs);
  return {
    status: matters ? "False" : "True",
    reason: "BindingRefused",
    sentence,
    entry: basicEntry(excluded, "Refused"),
    isStalled: matters,
    ...warningOnEntering(excluded, "Refused", "BindingRefused", sentence),
    ...(schedule === undefined ? {} : { nextMs: [schedule.warnAtMs] }),
  };
}

function foreignSubject({ binding, observed, listed, isPrivate }: LivingCase): string | undefined {
  const why = refusalOf(binding.view, observed, listed);
  return why !== undefined && isPrivate ? "has other subjects than ServiceAccounts of the targets" : why;
}

/** Just-in-time access operators keep the expiry in an object of their own and would revert a change of the binding. */
function ownership({ binding, isPrivate }: LivingCase): string | undefined {
  const { owner } = binding.view;
  if (owner === undefined) return undefined;
  return `is owned by ${isPrivate ? "another object" : `${owner.kind} ${owner.name}`}; extend that object instead`;
}

/** The enforcer ignores a value that it cannot read, and so does the operator. */
function malformed(excluded: LivingCase): BindingFinding | undefined {
  const [first] = excluded.expiry.malformed;
  if (first === undefined) return undefined;
  const { key, value, expected } = first;
  const found = excluded.isPrivate ? `an unreadable ${key}` : `${key} "${value}"`;
  const sentence = `${nameOf(excluded.binding.view)} is not renewed: found ${found}, expected ${expected}.`;
  return {
    status: "False",
    reason: "MalformedExpiry",
    sentence,
    entry: basicEntry(excluded, "Malformed"),
    isStalled: true,
    ...warningOnEntering(excluded, "Malformed", "BindingMalformed", sentence),
  };
}

function neverExpires(excluded: LivingCase): BindingFinding | undefined {
  if (excluded.expiry.earliest !== undefined) return undefined;
  const sentence = `${nameOf(excluded.binding.view)} has no expiry that the operator can read.`;
  return { status: "True", reason: "Current", sentence, entry: basicEntry(excluded, "Never") };
}

function warningOnEntering({ binding }: LivingCase, state: BindingStatus["state"], reason: string, note: string) {
  const { record, view } = binding;
  return eventOnEntering(state, record?.state, { type: "Warning", reason, note }, refOf(view));
}

/** What status keeps in every state. The life above all: it cannot be derived from a renewed expiry. */
export function basicEntry(
  { binding, expiry, spec, observed }: LivingCase,
  state: BindingStatus["state"],
): BindingStatus {
  const { kind, namespace, name, uid } = binding.view;
  const expiring = expiry.earliest && { uid, expiryMs: expiry.earliest.atMs };
  const { lifeSeconds, lastRenewalTime, renewedUntil, announcedEnd } = binding.record ?? {};
  return {
    kind,
    name,
    ...(namespace === "" ? {} : { namespace }),
    uid,
    state,
    ...(expiry.earliest === undefined ? {} : { expiryTime: timeOf(expiry.earliest.atMs) }),
    ...(lifeSeconds === undefined ? {} : { lifeSeconds }),
    ...(lastRenewalTime === undefined ? {} : { lastRenewalTime }),
    ...(renewedUntil === undefined ? {} : { renewedUntil }),
    ...latestExpiry(binding.record, expiring, observed.specHash),
    ...(announcedEnd === undefined || !isRenewUntil(announcedEnd, spec) ? {} : { announcedEnd }),
  };
}

function isRenewUntil(time: string, spec: BindingRenewalSpec): boolean {
  const untilMs = renewUntilMs(spec);
  return Number.isFinite(untilMs) && time === timeOf(untilMs);
}
