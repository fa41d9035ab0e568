import type { BindingStatus } from "../../api/controller-resilience";
import { nameOf, refOf, timeOf } from "./build";
import type { Expiry } from "./conventions";
import type { BindingRenewalFacts, LivingBinding, Spec } from "./facts";
import { announcedOnce, type Check, type Finding, firstOf } from "./finding";
import { markedOf, renewUntilMs, scheduleOf } from "./schedule";
import { isUndecided, refusalOf } from "./scope";

/** A binding that exists, with all that is computed of it. */
export interface LivingCase {
  readonly binding: LivingBinding;
  readonly facts: BindingRenewalFacts;
  readonly spec: Spec;
  readonly nowMs: number;
  readonly listed: boolean;
  readonly expiry: Expiry;
}

/** The first that has something to say decides. */
const CHECKS: readonly Check<LivingCase>[] = [
  // Somebody asked for it to be left alone.
  skipped,
  // A target is missing that may run as one of its subjects.
  undecided,
  // Its other subjects, or its owner, are nobody's business here.
  refused,
  // What the enforcer can't read it does not act on, and neither does this.
  malformed,
  // Nothing to renew.
  endless,
];

/** What is said of a binding that is not to be renewed at all; undefined for one that is, in its time. */
export function assessExcluded(given: LivingCase): Finding | undefined {
  return firstOf(CHECKS, given);
}

function skipped(given: LivingCase): Finding | undefined {
  if (!given.binding.view.skip) return undefined;
  const sentence = `${nameOf(given.binding.view)} has the skip annotation and is left alone.`;
  return { status: "True", reason: "Current", sentence, entry: plainEntry(given, "Skipped") };
}

function undecided(given: LivingCase): Finding | undefined {
  const { view, record } = given.binding;
  if (given.listed || !isUndecided(view, given.facts)) return undefined;
  const sentence = `${nameOf(view)} has to wait: a target is missing, and may run as one of its ServiceAccounts.`;
  return { status: "True", reason: "Current", sentence, ...(record === undefined ? {} : { entry: record }) };
}

function refused(given: LivingCase): Finding | undefined {
  const { view, record } = given.binding;
  const why = refusalOf(view, given.facts, given.listed) ?? ownership(given);
  if (why === undefined) return undefined;
  const sentence = `${nameOf(view)} is not renewed: it ${why}.`;
  // A binding that nobody has listed matters once it is about to end.
  const schedule = scheduleOf(markedOf(view), given.expiry, given.spec, record);
  const matters = given.listed || (schedule !== undefined && given.nowMs >= schedule.warnAtMs);
  return {
    status: matters ? "False" : "True",
    reason: "BindingRefused",
    sentence,
    entry: plainEntry(given, "Refused"),
    isStalled: matters,
    ...announced(given, "Refused", "BindingRefused", sentence),
    ...(schedule === undefined ? {} : { nextMs: [schedule.warnAtMs] }),
  };
}

/** Just-in-time access operators keep the expiry in an object of their own; an edit of the binding would not last. */
function ownership({ binding }: LivingCase): string | undefined {
  const { owner } = binding.view;
  return owner === undefined ? undefined : `is owned by ${owner.kind} ${owner.name}, which has to be extended instead`;
}

function malformed(given: LivingCase): Finding | undefined {
  const [first] = given.expiry.malformed;
  if (first === undefined) return undefined;
  const { key, value, expected } = first;
  const sentence = `${nameOf(given.binding.view)} is left alone: found ${key} "${value}", expected ${expected}.`;
  return {
    status: "False",
    reason: "MalformedExpiry",
    sentence,
    entry: plainEntry(given, "Malformed"),
    isStalled: true,
    ...announced(given, "Malformed", "BindingMalformed", sentence),
  };
}

function endless(given: LivingCase): Finding | undefined {
  if (given.expiry.earliest !== undefined) return undefined;
  const sentence = `${nameOf(given.binding.view)} does not expire.`;
  return { status: "True", reason: "Current", sentence, entry: plainEntry(given, "Never") };
}

function announced(given: LivingCase, state: BindingStatus["state"], reason: string, note: string) {
  const { record, view } = given.binding;
  return announcedOnce(record?.state, state, { type: "Warning", reason, note }, refOf(view));
}

/** What there is to remember of a binding whatever becomes of it: its life above all, which nobody could tell from a renewed expiry. */
export function plainEntry({ binding, expiry, spec }: LivingCase, state: BindingStatus["state"]): BindingStatus {
  const { kind, namespace, name, uid } = binding.view;
  const { lifeSeconds, lastRenewalTime, renewedUntil, renewedGeneration, announcedEnd } = binding.record ?? {};
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
    ...(renewedGeneration === undefined ? {} : { renewedGeneration }),
    ...(announcedEnd === undefined || !isTheEnd(announcedEnd, spec) ? {} : { announcedEnd }),
  };
}

/** Of an end that is none any more nobody has told. */
function isTheEnd(time: string, spec: Spec): boolean {
  const untilMs = renewUntilMs(spec);
  return Number.isFinite(untilMs) && time === timeOf(untilMs);
}
