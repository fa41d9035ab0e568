import { Reason } from "../../api/conditions";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Announcement } from "../../core/remedy";
import { nameOf, refOf } from "./build";
import { type Expiry } from "./conventions";
import type { BindingRenewalFacts, LivingBinding, Spec } from "./facts";
import type { Finding } from "./finding";
import { markedOf, scheduleOf } from "./schedule";
import { refusalOf } from "./scope";

/** A binding that exists, with all that is computed of it. */
export interface Case {
  readonly binding: LivingBinding;
  readonly facts: BindingRenewalFacts;
  readonly spec: Spec;
  readonly nowMs: number;
  readonly listed: boolean;
  readonly expiry: Expiry;
}

/** A check that may have something to say. */
export type Check<Given> = (given: Given) => Finding | undefined;

/** The first that has something to say decides. */
const CHECKS: readonly Check<Case>[] = [
  // Somebody asked for it to be left alone.
  skipped,
  // Its other subjects, or its owner, are nobody's business here.
  refused,
  // What the enforcer can't read it does not act on, and neither does this.
  malformed,
  // Nothing to renew.
  given => (given.expiry.readings.length === 0 ? endless(given) : undefined),
];

/** What is said of a binding that is not to be renewed at all; undefined for one that is, in its time. */
export function assessExcluded(given: Case): Finding | undefined {
  return firstOf(CHECKS, given);
}

/** What the first check says that has something to say. */
export function firstOf<Given>(checks: readonly Check<Given>[], given: Given): Finding | undefined {
  for (const check of checks) {
    const finding = check(given);
    if (finding !== undefined) return finding;
  }
  return undefined;
}

function skipped(given: Case): Finding | undefined {
  if (!given.binding.view.skip) return undefined;
  const sentence = `${nameOf(given.binding.view)} has the skip annotation and is left alone.`;
  return { status: "True", reason: Reason.Current, sentence, entry: plainEntry(given, "Skipped") };
}

function refused(given: Case): Finding | undefined {
  const { view } = given.binding;
  const why = refusalOf(view, given.facts, given.listed) ?? ownership(given);
  if (why === undefined) return undefined;
  const sentence = `${nameOf(view)} is not renewed: it ${why}.`;
  // A binding that nobody has listed matters once it is about to end.
  const schedule = scheduleOf(markedOf(view), given.expiry, given.spec);
  const matters = given.listed || (schedule !== undefined && given.nowMs >= schedule.warnAtMs);
  return {
    status: matters ? "False" : "True",
    reason: Reason.BindingRefused,
    sentence,
    entry: plainEntry(given, "Refused"),
    isStalled: matters,
    ...announcedOnce(given, "Refused", { type: "Warning", reason: "BindingRefused", note: sentence }),
    ...(schedule === undefined ? {} : { nextMs: [schedule.warnAtMs] }),
  };
}

/** Just-in-time access operators keep the expiry in an object of their own; an edit of the binding would not last. */
function ownership({ binding }: Case): string | undefined {
  const { owner } = binding.view;
  return owner === undefined ? undefined : `is owned by ${owner.kind} ${owner.name}, which has to be extended instead`;
}

function malformed(given: Case): Finding | undefined {
  const [first] = given.expiry.malformed;
  if (first === undefined) return undefined;
  const { key, value, expected } = first;
  const sentence = `${nameOf(given.binding.view)} is left alone: found ${key} "${value}", expected ${expected}.`;
  return {
    status: "False",
    reason: Reason.MalformedExpiry,
    sentence,
    entry: plainEntry(given, "Malformed"),
    isStalled: true,
    ...announcedOnce(given, "Malformed", { type: "Warning", reason: "BindingMalformed", note: sentence }),
  };
}

/** What is said of a binding that nothing has to be done for. */
export function endless(given: Case): Finding {
  const sentence = `${nameOf(given.binding.view)} does not expire.`;
  return { status: "True", reason: Reason.Current, sentence, entry: plainEntry(given, "Never") };
}

/** Told when a binding comes into that state, which status remembers: one Event for each stage, whoever leads. */
export function announcedOnce(
  { binding }: Case,
  state: BindingStatus["state"],
  words: Omit<Announcement, "about">,
): { announcement?: Announcement } {
  if (binding.record?.state === state) return {};
  return { announcement: { ...words, about: refOf(binding.view) } };
}

/** As little as there is to remember of a binding that is not renewed. */
export function plainEntry({ binding }: Case, state: BindingStatus["state"]): BindingStatus {
  const { kind, namespace, name, uid } = binding.view;
  return { kind, name, ...(namespace === "" ? {} : { namespace }), uid, state };
}
