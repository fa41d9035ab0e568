import type { BindingRenewalSpec, BindingStatus } from "../../../api/controller-resilience";
import { whatWould } from "../../../core/mode";
import type { EventRequest } from "../../../core/remedy";
import { type Check, firstMatch } from "../../kit/checks";
import { readExpiry } from "../conventions";
import { buildRenewal, refOf } from "../intents";
import type { LivingBinding, ObservedBindings } from "../observed";
import { isContested, timeOf, withoutRenewalPlan } from "../record";
import { markedOf, planRenewal, renewUntilMs, scheduleOf, type Renewal, type Schedule } from "../schedule";
import { isListed, isPinned } from "../scope";
import { describeContest, expiryOf, nameOf, rulesOf, tooPowerful } from "../wording";
import { withEnd } from "./end";
import { basicEntry, planExcluded, type LivingCase } from "./excluded";
import { type BindingFinding, eventOnEntering } from "./finding";
import { isRefusal, stalledFrom, stillRefused, waitForRole } from "./unread";
import { revocation } from "./gone";

/** A binding that expires. */
interface ExpiringCase extends LivingCase {
  readonly schedule: Schedule;
  /** What a renewal would write now; undefined before the first warning, and if no later time can be written. */
  readonly renewal: Renewal | undefined;
}

/** If no check applies, the operator renews the binding. */
const CHECKS: readonly Check<ExpiringCase, BindingFinding>[] = [
  terminating,
  expiryShortened,
  renewalEnded,
  beforeWarning,
  // Reported from the first warning on, so that there is time to add the permission.
  permissionMissing,
  roleTooPowerful,
  roleUnread,
  beforeRenewal,
  observeOnly,
  renewalNotRecorded,
  renew,
];

/** What to report and write for a binding that exists. Pure and total. */
export function planLiving(
  binding: LivingBinding,
  observed: ObservedBindings,
  spec: BindingRenewalSpec,
  nowMs: number,
): BindingFinding {
  const { view, record } = binding;
  const marked = markedOf(view);
  const expiry = readExpiry(marked);
  const schedule = scheduleOf(marked, expiry, spec, record);
  const listed = isListed(spec, view.kind, view.name);
  const isPrivate = !observed.isAuthorChecked && !listed && view.kind === "ClusterRoleBinding";
  const living = { binding, observed, spec, nowMs, expiry, schedule, listed, isPrivate };
  const excluded = planExcluded(living);
  if (excluded !== undefined || schedule === undefined) return excluded ?? notRenewed(living);
  // Computing a renewal takes longer than everything else, and nothing needs it before the first warning.
  const isWarned = nowMs >= schedule.warnAtMs;
  const bounds = { nowMs, latestMs: renewUntilMs(spec), renewingUntil: record?.renewingUntil };
  const renewal = isWarned ? planRenewal(marked, expiry, schedule, bounds) : undefined;
  const expiring = { ...living, schedule, renewal };
  return withEnd(firstMatch(CHECKS, expiring) ?? notRenewed(living), expiring);
}

/** Unreachable; keeps the function total: a binding without a schedule is excluded, and renewals of one without a renewal have ended. */
function notRenewed({ binding }: LivingCase): BindingFinding {
  return { status: "True", reason: "Current", sentence: `${nameOf(binding.view)} is not renewed.` };
}

function terminating(expiring: ExpiringCase): BindingFinding | undefined {
  const { view, record } = expiring.binding;
  if (view.deletedAtMs === undefined) return undefined;
  const entry = record ?? entryOf(expiring, "ExpiringSoon");
  if (view.deletedAtMs < expiring.schedule.expiryMs) return revocation(entry, expiring.listed, record?.state);
  const sentence = `${nameOf(view)} is being deleted, at or after its expiry.`;
  return { status: "True", reason: "ExpiringSoon", sentence, entry };
}

function expiryShortened(expiring: ExpiringCase): BindingFinding | undefined {
  const { binding, observed, schedule } = expiring;
  const { record, view } = binding;
  const { expiryMs } = schedule;
  if (record === undefined || !isContested(record, { uid: view.uid, expiryMs }, observed.specHash)) return undefined;
  const sentence = `${nameOf(view)}: ${describeContest(record, schedule)}`;
  return {
    status: "False",
    reason: "RenewalContested",
    sentence,
    entry: withoutRenewalPlan(entryOf(expiring, "Contested")),
    isStalled: true,
    ...onEntering(expiring, "Contested", { type: "Warning", reason: "BindingContested", note: sentence }),
  };
}

/** renewUntil has passed, or no later time can be written. */
function renewalEnded(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, renewal, schedule, spec } = expiring;
  const untilMs = renewUntilMs(spec);
  const isOver = nowMs >= untilMs;
  if (!isOver && (renewal !== undefined || nowMs < schedule.warnAtMs)) return undefined;
  const why = Number.isFinite(untilMs)
    ? `spec.bindingRenewal.renewUntil is ${timeOf(untilMs)}; review the access, then set a later date`
    : "no later time can be written; spec.bindingRenewal.extendBy may help";
  const sentence = `${clause(expiring)} and is not renewed: ${why}.`;
  return {
    status: "False",
    reason: "RenewalEnded",
    sentence,
    entry: withoutRenewalPlan(entryOf(expiring, "Ended")),
    isStalled: true,
    ...onEntering(expiring, "Ended", { type: "Warning", reason: "BindingNotRenewed", note: sentence }),
    nextMs: [schedule.expiryMs],
  };
}

function beforeWarning(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, schedule } = expiring;
  if (nowMs >= schedule.warnAtMs) return undefined;
  const sentence = `${clause(expiring)}.`;
  return {
    status: "True",
    reason: "Current",
    sentence,
    entry: entryOf(expiring, "Current"),
    nextMs: timesOf(expiring),
  };
}

function permissionMissing(expiring: ExpiringCase): BindingFinding | undefined {
  const { lacks } = expiring.binding;
  if (lacks.length === 0) return undefined;
  const sentence = `${clause(expiring)} and cannot be renewed: the operator's ServiceAccount lacks ${expiring.isPrivate ? "a right, which Enforce mode names" : rulesOf(lacks)}.`;
  return {
    status: "False",
    reason: "RenewalForbidden",
    sentence,
    entry: entryOf(expiring, "Forbidden"),
    isStalled: true,
    ...onEntering(expiring, "Forbidden", { type: "Warning", reason: "BindingRenewalForbidden", note: sentence }),
    nextMs: timesOf(expiring),
  };
}

function roleTooPowerful(expiring: ExpiringCase): BindingFinding | undefined {
  const { excess, view } = expiring.binding;
  if (excess === undefined) return undefined;
  const role = expiring.isPrivate ? "its role is too powerful" : tooPowerful(view.roleRef, excess);
  const sentence = `${clause(expiring)} and is not renewed: ${role}.`;
  return {
    status: "False",
    reason: "BindingRefused",
    sentence,
    entry: withoutRenewalPlan(entryOf(expiring, "Refused")),
    isStalled: true,
    ...onEntering(expiring, "Refused", { type: "Warning", reason: "BindingRefused", note: sentence }),
    nextMs: timesOf(expiring),
  };
}

/** Only a role that was read is bound. */
function roleUnread(expiring: ExpiringCase): BindingFinding | undefined {
  const { binding, schedule, nowMs, isPrivate } = expiring;
  const { unread, record, view } = binding;
  if (unread === undefined) return undefined;
  const role = isPrivate ? "its role" : `${nameOf(view.roleRef)}: ${unread}`;
  if (isRefusal(record?.state)) return stillRefused(clause(expiring), role, entryOf(expiring, record.state));
  if (nowMs < schedule.renewAtMs) return undefined;
  const wait = { dueMs: schedule.renewAtMs, endMs: schedule.expiryMs, nowMs };
  const waiting = waitForRole(clause(expiring), role, wait);
  // A renewal may have been sent already: the plan in status recognizes it.
  return {
    ...expiringSoon(expiring, ""),
    ...waiting,
    ...(record?.renewingUntil && { entry: renewingEntry(expiring) }),
  };
}

function beforeRenewal(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, schedule } = expiring;
  if (nowMs >= schedule.renewAtMs) return undefined;
  const sentence = `${clause(expiring)}; the operator renews it at ${timeOf(schedule.renewAtMs)}.`;
  return { ...expiringSoon(expiring, sentence), nextMs: timesOf(expiring) };
}

function observeOnly(expiring: ExpiringCase): BindingFinding | undefined {
  const { mode } = expiring.observed;
  const renewed = mode === "Enforce" ? undefined : renew(expiring);
  if (mode === "Enforce" || renewed === undefined) return undefined;
  const sentence = `${clause(expiring)}; ${whatWould(mode)} renew it now.`;
  return { ...renewed, status: "False", reason: "WouldRenew", sentence, entry: entryOf(expiring, "ExpiringSoon") };
}

/**
 * Life and new expiry must be in status before the write. The next leader cannot derive the life from the renewed binding, nor distinguish
 * its predecessor's renewal from another writer's change.
 */
function renewalNotRecorded(expiring: ExpiringCase): BindingFinding | undefined {
  const { record } = expiring.binding;
  const entry = renewingEntry(expiring);
  const isLifeKnown = record?.uid !== undefined && record.lifeSeconds === entry.lifeSeconds;
  if (isLifeKnown && record.renewingUntil === entry.renewingUntil) return undefined;
  const sentence = `${clause(expiring)}; the operator renews it next.`;
  // The next pass follows as soon as status is written.
  return { ...expiringSoon(expiring, sentence), entry, nextMs: [expiring.nowMs + 1] };
}

function renew(expiring: ExpiringCase): BindingFinding | undefined {
  const { binding, observed, renewal, schedule } = expiring;
  if (renewal === undefined) return undefined;
  const { view } = binding;
  const { renewAtMs: dueMs, expiryMs: endMs } = schedule;
  const why = `${nameOf(view)} is renewed until ${timeOf(renewal.expiryMs)}; its previous expiry was ${timeOf(schedule.expiryMs)} (${schedule.sources.join(", ")}).`;
  const intent = buildRenewal(view, renewal, { why, specHash: observed.specHash });
  return {
    ...expiringSoon(expiring, `${clause(expiring)}; the operator renews it next.`),
    reason: "Current",
    entry: renewingEntry(expiring),
    intents: [intent],
    write: { intent, expiry: clause(expiring), dueMs, stalledMs: stalledFrom({ dueMs, endMs }) },
    nextMs: timesOf(expiring),
  };
}

function renewingEntry(expiring: ExpiringCase): BindingStatus {
  const { renewal } = expiring;
  const renewing = renewal === undefined ? {} : { renewingUntil: timeOf(renewal.expiryMs) };
  return { ...entryOf(expiring, "ExpiringSoon"), ...renewing };
}

function expiringSoon(expiring: ExpiringCase, sentence: string): BindingFinding {
  const note = `${clause(expiring)}.`;
  return {
    status: "True",
    reason: "ExpiringSoon",
    sentence,
    entry: entryOf(expiring, "ExpiringSoon"),
    ...onEntering(expiring, "ExpiringSoon", { type: "Normal", reason: "BindingExpiringSoon", note }),
  };
}

function clause({ binding, schedule }: ExpiringCase): string {
  return expiryOf(binding.view, schedule);
}

function timesOf({ schedule }: ExpiringCase): number[] {
  return [schedule.warnAtMs, schedule.renewAtMs, schedule.expiryMs];
}

function onEntering({ binding }: ExpiringCase, state: BindingStatus["state"], event: Omit<EventRequest, "about">) {
  const { record, view } = binding;
  return eventOnEntering(state, record?.state, event, refOf(view));
}

function entryOf(expiring: ExpiringCase, state: BindingStatus["state"]): BindingStatus {
  const { schedule } = expiring;
  return {
    ...basicEntry(expiring, state),
    renewTime: timeOf(schedule.renewAtMs),
    lifeSeconds: Math.floor(schedule.lifeMs / 1000),
    ...contentOf(expiring),
    source: schedule.sources.join(","),
  };
}

function contentOf({ binding: { view }, isPrivate, observed }: ExpiringCase) {
  const subjects = view.subjects.map(subject => ({ ...subject }));
  if (isPrivate) return { subjects: subjects.filter(subject => isPinned(subject, observed)) };
  return { roleRef: { ...view.roleRef }, subjects };
}
