import type { BindingStatus } from "../../api/controller-resilience";
import type { Announcement } from "../../core/legacy-remedy";
import { buildRenewal, nameOf, refOf, timeOf, withoutPlan } from "./build";
import { readExpiry } from "./conventions";
import { assessExcluded, plainEntry, type LivingCase } from "./excluded";
import { isPutBack, type BindingRenewalFacts, type LivingBinding, type Spec } from "./facts";
import { announcedOnce, type Check, type Finding, firstOf } from "./finding";
import { revocation } from "./gone";
import { ruleOf } from "./rights";
import { markedOf, planRenewal, renewUntilMs, scheduleOf, type Renewal, type Schedule } from "./schedule";
import { isListed } from "./scope";

/** One whose expiry can be read. */
interface Scheduled extends LivingCase {
  readonly schedule: Schedule;
  /** What a renewal would write now; undefined where no later time can be had, and before the first warning. */
  readonly renewal: Renewal | undefined;
}

/** The first that has something to say decides; if none has, the binding is renewed. */
const CHECKS: readonly Check<Scheduled>[] = [
  // It is on its way out.
  terminating,
  // Somebody has put back what was renewed.
  contested,
  // The review's date has come, or no later time can be said.
  ended,
  // All is well.
  current,
  // A right is missing; better known a week ahead than too late.
  forbidden,
  // Its time to be renewed has not come.
  soon,
  // Observe only reports.
  wouldRenew,
  // Its life has to stand in status first, and until when it is to be renewed: from a renewed binding nobody could tell either any more.
  unrecorded,
  renew,
];

/** Its end is told of a week ahead, whatever warnBefore says of single expiries. */
const ENDING_SOON_MS = 7 * 24 * 3_600_000;

/** What is to be said and done about a binding that exists. Pure and total. */
export function assessLiving(binding: LivingBinding, facts: BindingRenewalFacts, spec: Spec, nowMs: number): Finding {
  const { view, record } = binding;
  const marked = markedOf(view);
  const expiry = readExpiry(marked);
  const given = { binding, facts, spec, nowMs, expiry, listed: isListed(spec, view.kind, view.name) };
  const schedule = scheduleOf(marked, expiry, spec, record);
  const excluded = assessExcluded(given);
  if (excluded !== undefined || schedule === undefined) return excluded ?? noExpiry(given);
  // Before its first warning nobody asks what a renewal would write, and it takes longer than all the rest.
  const isWarned = nowMs >= schedule.warnAtMs;
  const bounds = { nowMs, latestMs: renewUntilMs(spec), renewingUntil: record?.renewingUntil };
  const renewal = isWarned ? planRenewal(marked, expiry, schedule, bounds) : undefined;
  const scheduled = { ...given, schedule, renewal };
  return withEnd(firstOf(CHECKS, scheduled) ?? noExpiry(given), scheduled);
}

/** Never said: whoever has no expiry is excluded, and whoever can't be renewed has come to an end. */
function noExpiry({ binding }: LivingCase): Finding {
  return { status: "True", reason: "Current", sentence: `${nameOf(binding.view)} is not renewed.` };
}

function terminating(given: Scheduled): Finding | undefined {
  const { view, record } = given.binding;
  if (view.deletedAtMs === undefined) return undefined;
  const entry = record ?? entryOf(given, "ExpiringSoon");
  if (view.deletedAtMs < given.schedule.expiryMs) return revocation(entry, given.listed, record?.state);
  const sentence = `${nameOf(view)} is being deleted, at or after its expiry.`;
  return { status: "True", reason: "ExpiringSoon", sentence, entry };
}

function contested(given: Scheduled): Finding | undefined {
  const { binding, facts, schedule } = given;
  const { record } = binding;
  if (!isPutBack(record, schedule.expiryMs, facts.generation)) return undefined;
  const sentence = `${expiring(given)} again, although it was renewed until ${record?.renewedUntil ?? ""}: somebody has put it back, so it is not renewed any more. If Git names ${schedule.sources.join(", ")}, change it there, or let Git leave it alone and change this object.`;
  return {
    status: "False",
    reason: "RenewalContested",
    sentence,
    entry: withoutPlan(entryOf(given, "Contested")),
    isStalled: true,
    ...announced(given, "Contested", { type: "Warning", reason: "BindingContested", note: sentence }),
  };
}

function ended(given: Scheduled): Finding | undefined {
  const { nowMs, renewal, schedule, spec } = given;
  const untilMs = renewUntilMs(spec);
  const isOver = nowMs >= untilMs;
  if (!isOver && (renewal !== undefined || nowMs < schedule.warnAtMs)) return undefined;
  const why = Number.isFinite(untilMs)
    ? `spec.bindingRenewal.renewUntil is ${timeOf(untilMs)}`
    : "no later time can be written; spec.bindingRenewal.extendBy may help";
  const sentence = `${expiring(given)} and is not renewed: ${why}.`;
  return {
    status: "False",
    reason: "RenewalEnded",
    sentence,
    entry: withoutPlan(entryOf(given, "Ended")),
    isStalled: true,
    ...announced(given, "Ended", { type: "Warning", reason: "BindingNotRenewed", note: sentence }),
    nextMs: [schedule.expiryMs],
  };
}

function current(given: Scheduled): Finding | undefined {
  const { nowMs, schedule } = given;
  if (nowMs >= schedule.warnAtMs) return undefined;
  const sentence = `${expiring(given)}.`;
  return { status: "True", reason: "Current", sentence, entry: entryOf(given, "Current"), nextMs: nextOf(given) };
}

function forbidden(given: Scheduled): Finding | undefined {
  const { lacks } = given.binding;
  if (lacks.length === 0) return undefined;
  const sentence = `${expiring(given)} and can't be renewed: the operator's ServiceAccount lacks ${lacks.map(ruleOf).join(" and ")}.`;
  return {
    status: "False",
    reason: "RenewalForbidden",
    sentence,
    entry: entryOf(given, "Forbidden"),
    isStalled: true,
    ...announced(given, "Forbidden", { type: "Warning", reason: "BindingRenewalForbidden", note: sentence }),
    nextMs: nextOf(given),
  };
}

function soon(given: Scheduled): Finding | undefined {
  const { nowMs, schedule } = given;
  if (nowMs >= schedule.renewAtMs) return undefined;
  return {
    ...aboutToEnd(given),
    sentence: `${expiring(given)} and is to be renewed at ${timeOf(schedule.renewAtMs)}.`,
    nextMs: nextOf(given),
  };
}

function wouldRenew(given: Scheduled): Finding | undefined {
  if (given.facts.mode === "Enforce") return undefined;
  const sentence = `${expiring(given)} and would be renewed now.`;
  return { ...renew(given), ...aboutToEnd(given), status: "False", reason: "WouldRenew", sentence };
}

function unrecorded(given: Scheduled): Finding | undefined {
  const { record } = given.binding;
  const entry = renewingEntry(given);
  const isLifeKnown = record?.uid !== undefined && record.lifeSeconds === entry.lifeSeconds;
  if (isLifeKnown && record.renewingUntil === entry.renewingUntil) return undefined;
  return {
    ...aboutToEnd(given),
    sentence: `${expiring(given)} and is about to be renewed.`,
    entry,
    // Looked at again as soon as that was written.
    nextMs: [given.nowMs + 1],
  };
}

/** What holds once it was carried out; `concludeBindings` says it where it was not. */
function renew(given: Scheduled): Finding | undefined {
  const { binding, facts, renewal } = given;
  if (renewal === undefined) return undefined;
  const why = `${expiring(given)}; renewed until ${timeOf(renewal.expiryMs)}.`;
  return {
    ...aboutToEnd(given),
    reason: "Current",
    sentence: `${nameOf(binding.view)} is renewed.`,
    entry: renewingEntry(given),
    intent: buildRenewal(binding.view, renewal, { why, generation: facts.generation }),
    nextMs: nextOf(given),
  };
}

/** By what stands there the next process knows its predecessor's renewal, if that has died before it could tell. */
function renewingEntry(given: Scheduled): BindingStatus {
  const { renewal } = given;
  const renewing = renewal === undefined ? {} : { renewingUntil: timeOf(renewal.expiryMs) };
  return { ...entryOf(given, "ExpiringSoon"), ...renewing };
}

function aboutToEnd(given: Scheduled): Finding {
  const sentence = `${expiring(given)}.`;
  return {
    status: "True",
    reason: "ExpiringSoon",
    sentence,
    entry: entryOf(given, "ExpiringSoon"),
    ...announced(given, "ExpiringSoon", { type: "Normal", reason: "BindingExpiringSoon", note: sentence }),
  };
}

/** Adds, once for each date, that nothing is renewed after renewUntil. */
function withEnd(finding: Finding, { binding, nowMs, spec }: Scheduled): Finding {
  const untilMs = renewUntilMs(spec);
  const nextMs = [...(finding.nextMs ?? []), untilMs - ENDING_SOON_MS, untilMs];
  const isAhead = nowMs >= untilMs - ENDING_SOON_MS && nowMs < untilMs;
  if (!isAhead || finding.entry === undefined) return { ...finding, nextMs };
  const announcedEnd = timeOf(untilMs);
  if (finding.entry.announcedEnd === announcedEnd) return { ...finding, nextMs };
  const note = `${nameOf(binding.view)} is not renewed after ${announcedEnd}, which is spec.bindingRenewal.renewUntil. Review the access, then set a later date.`;
  const announcement = { type: "Warning", reason: "RenewalEndsSoon", note, about: refOf(binding.view) } as const;
  return {
    ...finding,
    entry: { ...finding.entry, announcedEnd },
    announcements: [...(finding.announcements ?? []), announcement],
    nextMs,
  };
}

function expiring({ binding, schedule }: Scheduled): string {
  return `${nameOf(binding.view)} expires at ${timeOf(schedule.expiryMs)} (${schedule.sources.join(", ")})`;
}

function nextOf({ schedule }: Scheduled): number[] {
  return [schedule.warnAtMs, schedule.renewAtMs, schedule.expiryMs];
}

function announced(given: Scheduled, state: BindingStatus["state"], words: Omit<Announcement, "about">) {
  const { record, view } = given.binding;
  return announcedOnce(record?.state, state, words, refOf(view));
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}

/** With all that it takes to create the binding again. */
function entryOf(given: Scheduled, state: BindingStatus["state"]): BindingStatus {
  const { schedule, binding } = given;
  const { view } = binding;
  return {
    ...plainEntry(given, state),
    renewTime: timeOf(schedule.renewAtMs),
    lifeSeconds: secondsOf(schedule.lifeMs),
    roleRef: { ...view.roleRef },
    subjects: view.subjects.map(subject => ({ ...subject })),
    labels: { ...view.labels },
    annotations: { ...view.annotations },
    source: schedule.sources.join(","),
  };
}
