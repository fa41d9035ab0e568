import { Reason } from "../../api/conditions";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Announcement } from "../../core/remedy";
import { buildRenewal, nameOf, timeOf } from "./build";
import { readExpiry } from "./conventions";
import { announcedOnce, assessExcluded, type Case, type Check, endless, firstOf, plainEntry } from "./excluded";
import type { BindingRenewalFacts, LivingBinding, Spec } from "./facts";
import type { Finding } from "./finding";
import { ruleOf } from "./rights";
import { markedOf, planRenewal, renewUntilMs, scheduleOf, type Renewal, type Schedule } from "./schedule";
import { isListed } from "./scope";

/** One whose expiry can be read. */
interface Scheduled extends Case {
  readonly schedule: Schedule;
  /** What a renewal would write now; undefined where no later time can be had. */
  readonly renewal?: Renewal;
}

const SCHEDULED_CHECKS: readonly Check<Scheduled>[] = [
  // It is on its way out.
  terminating,
  // The review's date has come, or no later time can be said.
  ended,
  // All is well.
  current,
  // A right is missing; better known a week ahead than too late.
  forbidden,
  // Its time to be renewed has not come.
  soon,
  // It was renewed a moment ago, and somebody has put it back.
  contested,
  // Its life has to stand in status first: from a renewed binding nobody could tell it any more.
  unrecorded,
  // Observe only reports.
  wouldRenew,
];

/** What is to be said and done about a binding that exists. Pure and total. */
export function assessLiving(binding: LivingBinding, facts: BindingRenewalFacts, spec: Spec, nowMs: number): Finding {
  const { view } = binding;
  const marked = markedOf(view);
  const expiry = readExpiry(marked);
  const given = { binding, facts, spec, nowMs, expiry, listed: isListed(spec, view.kind, view.name) };
  const early = assessExcluded(given);
  if (early !== undefined) return early;
  const lifeMs = binding.record?.lifeSeconds === undefined ? undefined : binding.record.lifeSeconds * 1000;
  const schedule = scheduleOf(marked, expiry, spec, lifeMs);
  if (schedule === undefined) return endless(given);
  const renewal = planRenewal(marked, expiry, schedule, { nowMs, latestMs: renewUntilMs(spec) });
  const scheduled = { ...given, schedule, ...(renewal === undefined ? {} : { renewal }) };
  return firstOf(SCHEDULED_CHECKS, scheduled) ?? renew(scheduled);
}

function terminating(given: Scheduled): Finding | undefined {
  const { view, record } = given.binding;
  if (view.deletedAtMs === undefined) return undefined;
  const isRevoked = view.deletedAtMs < given.schedule.expiryMs;
  const entry = record ?? entryOf(given, "ExpiringSoon");
  return {
    status: "True",
    reason: isRevoked ? Reason.Revoked : Reason.ExpiringSoon,
    sentence: `${nameOf(view)} is being deleted.`,
    entry: isRevoked ? { ...entry, state: "Revoked" } : entry,
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
    reason: Reason.RenewalEnded,
    sentence,
    entry: entryOf(given, "Ended"),
    isStalled: true,
    ...announcedOnce(given, "Ended", { type: "Warning", reason: "BindingNotRenewed", note: sentence }),
    nextMs: [schedule.expiryMs],
  };
}

function current(given: Scheduled): Finding | undefined {
  const { nowMs, schedule } = given;
  if (nowMs >= schedule.warnAtMs) return undefined;
  const sentence = `${expiring(given)}.`;
  return { status: "True", reason: Reason.Current, sentence, entry: entryOf(given, "Current"), nextMs: nextOf(given) };
}

function forbidden(given: Scheduled): Finding | undefined {
  const { lacks } = given.binding;
  if (lacks.length === 0) return undefined;
  const sentence = `${expiring(given)} and can't be renewed: the operator's ServiceAccount lacks ${lacks.map(ruleOf).join(" and ")}.`;
  return {
    status: "False",
    reason: Reason.RenewalForbidden,
    sentence,
    entry: entryOf(given, "ExpiringSoon"),
    isStalled: true,
    ...announcedSoon(given),
    nextMs: nextOf(given),
  };
}

function soon(given: Scheduled): Finding | undefined {
  const { nowMs, schedule } = given;
  if (nowMs >= schedule.renewAtMs) return undefined;
  return {
    status: "True",
    reason: Reason.ExpiringSoon,
    sentence: `${expiring(given)} and is to be renewed at ${timeOf(schedule.renewAtMs)}.`,
    entry: entryOf(given, "ExpiringSoon"),
    ...announcedSoon(given),
    nextMs: nextOf(given),
  };
}

function contested(given: Scheduled): Finding | undefined {
  const { binding, nowMs, schedule } = given;
  const lastMs = Date.parse(binding.record?.lastRenewalTime ?? "");
  // No renewal is due again this soon unless its expiry was taken back: see RENEW_SHARE.
  const untilMs = lastMs + schedule.extendByMs / 3;
  if (!(nowMs < untilMs)) return undefined;
  const sentence = `${expiring(given)}: it was renewed at ${timeOf(lastMs)}, and somebody has put it back. It is not renewed again before ${timeOf(untilMs)}; if Git names ${schedule.sources.join(", ")}, it has to be changed there.`;
  return {
    status: "False",
    reason: Reason.RenewalContested,
    sentence,
    entry: entryOf(given, "ExpiringSoon"),
    isStalled: true,
    nextMs: [untilMs, schedule.expiryMs],
  };
}

function unrecorded(given: Scheduled): Finding | undefined {
  if (given.binding.record?.lifeSeconds !== undefined) return undefined;
  return {
    status: "True",
    reason: Reason.ExpiringSoon,
    sentence: `${expiring(given)} and is about to be renewed.`,
    entry: entryOf(given, "ExpiringSoon"),
    ...announcedSoon(given),
    // Looked at again as soon as that was written.
    nextMs: [given.nowMs + 1],
  };
}

function wouldRenew(given: Scheduled): Finding | undefined {
  if (given.facts.mode === "Enforce") return undefined;
  const finding = renew(given);
  const sentence = `${expiring(given)} and would be renewed now.`;
  return { ...finding, status: "False", reason: Reason.WouldRenew, sentence };
}

function renew(given: Scheduled): Finding {
  const { binding, renewal } = given;
  // `ended` has answered where there is none.
  if (renewal === undefined) return endless(given);
  const until = timeOf(renewal.expiryMs);
  const why = `${expiring(given)}; renewed until ${until}.`;
  return {
    status: "True",
    reason: Reason.Current,
    sentence: `${nameOf(binding.view)} is renewed until ${until}.`,
    entry: entryOf(given, "ExpiringSoon"),
    intent: buildRenewal(binding.view, renewal, why),
    ...announcedSoon(given),
    nextMs: nextOf(given),
  };
}

function expiring({ binding, schedule }: Scheduled): string {
  return `${nameOf(binding.view)} expires at ${timeOf(schedule.expiryMs)} (${schedule.sources.join(", ")})`;
}

function nextOf({ schedule }: Scheduled): number[] {
  return [schedule.warnAtMs, schedule.renewAtMs, schedule.expiryMs];
}

function announcedSoon(given: Scheduled): { announcement?: Announcement } {
  const note = `${expiring(given)}.`;
  return announcedOnce(given, "ExpiringSoon", { type: "Normal", reason: "BindingExpiringSoon", note });
}

/** With all that it takes to create the binding again. */
function entryOf(given: Scheduled, state: BindingStatus["state"]): BindingStatus {
  const { schedule, binding } = given;
  const { view, record } = binding;
  const { lastRenewalTime } = record ?? {};
  return {
    ...plainEntry(given, state),
    expiryTime: timeOf(schedule.expiryMs),
    ...(state === "Ended" ? {} : { renewTime: timeOf(schedule.renewAtMs) }),
    ...(lastRenewalTime === undefined ? {} : { lastRenewalTime }),
    lifeSeconds: Math.floor(schedule.lifeMs / 1000),
    roleRef: { ...view.roleRef },
    subjects: view.subjects.map(subject => ({ ...subject })),
    labels: { ...view.labels },
    annotations: { ...view.annotations },
    source: schedule.sources.join(","),
  };
}
