import { LATEST_EXPIRY_ANNOTATION, RENEW_ANNOTATION, SKIP_ANNOTATION } from "../../api/names";
import { type Check, firstMatch } from "../../core/checks";
import { whatWould } from "../../core/remedy";
import {
  type BindingCase,
  type BindingFinding,
  buildNote,
  buildPatch,
  clauseOf,
  entryOf,
  type ExpiringCase,
  nameOf,
  planGone,
  tell,
  unrenewed,
} from "./finding";
import { rulesOf } from "./rights";
import { isContested, noteOf, planRenewal, renewUntilMs, STALLED_AFTER_MS, timeOf } from "./schedule";

// What to report and write for a binding that exists: the first check that applies decides. Pure and total.

/** Delay of the next read of a role after one that failed, in milliseconds. */
const RETRY_MS = 60_000;

const CHECKS: readonly Check<BindingCase, BindingFinding>[] = [
  terminating,
  hasSkipAnnotation,
  ownedByAnother,
  malformed,
];

const EXPIRING_CHECKS: readonly Check<ExpiringCase, BindingFinding>[] = [
  expired,
  notRequested,
  revoked,
  restored,
  expiryShortened,
  severalExpiries,
  renewalEnded,
  permissionMissing,
  roleTooPowerful,
  roleUnread,
  beforeRenewal,
  renew,
];

/** What to report and write for a binding that exists. */
export function planLiving(known: BindingCase): BindingFinding {
  const { view, schedule, spec, nowMs } = known;
  const finding = firstMatch(CHECKS, known);
  if (finding !== undefined) return finding;
  if (schedule === undefined) return tell(known, "Never", `${nameOf(view)} has no expiry that the operator can read.`);
  const { warnAtMs, renewAtMs, stalledAtMs, atMs } = schedule;
  // Computing a renewal takes longer than everything else, and nothing needs it before the first warning.
  const renewal = nowMs >= warnAtMs ? planRenewal(view, schedule, spec) : undefined;
  const expiring = { ...known, schedule, renewal };
  return {
    // When another check may apply.
    nextMs: [warnAtMs, renewAtMs, stalledAtMs, atMs],
    ...(firstMatch(EXPIRING_CHECKS, expiring) ?? tell(expiring, "Current", `${clauseOf(expiring)}.`)),
  };
}

function terminating(known: BindingCase): BindingFinding | undefined {
  const { view, listed, record, schedule, nowMs } = known;
  if (view.deletedAtMs === undefined || schedule === undefined) return undefined;
  const gone = planGone(entryOf(known, record?.state ?? "Current"), listed, view.deletedAtMs);
  const heldMs = view.deletedAtMs + STALLED_AFTER_MS;
  if (nowMs < heldMs) return { ...gone, nextMs: [heldMs] };
  const sentence = `${nameOf(view)} has been terminating since ${timeOf(view.deletedAtMs)}, and gives access until its finalizers are removed.`;
  return { ...gone, status: "False", sentence, isStalled: true };
}

function hasSkipAnnotation(known: BindingCase): BindingFinding | undefined {
  if (!known.view.skip) return undefined;
  return tell(known, "Skipped", `${nameOf(known.view)} is not renewed: it has the skip annotation.`);
}

/** Just-in-time access operators keep the expiry in an object of their own and would revert a change of the binding. */
function ownedByAnother(known: BindingCase): BindingFinding | undefined {
  const { view, requested, schedule, nowMs } = known;
  if (view.owner === undefined) return undefined;
  const { kind, name } = view.owner;
  const sentence = `${nameOf(view)} is not renewed: it is owned by ${kind} ${name}; extend that object instead.`;
  const refused = tell(known, "Refused", sentence);
  // The end of a binding that nothing asks for is of interest only from its first warning on.
  const matters = requested || (schedule !== undefined && nowMs >= schedule.warnAtMs);
  return matters ? refused : { ...refused, status: "True", isStalled: false };
}

/** The enforcer ignores a value that it cannot read, and so does the operator. */
function malformed(known: BindingCase): BindingFinding | undefined {
  const first = known.expiry.malformed[0] ?? known.memory.malformed[0];
  if (first === undefined) return undefined;
  const { key, value, expected } = first;
  const sentence = `${nameOf(known.view)} is not renewed: found ${key} "${value}", expected ${expected}.`;
  return tell(known, "Malformed", sentence);
}

/** An expiry in the past is never extended: the access has ended, whatever still holds the binding. */
function expired(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, schedule, view, requested } = expiring;
  const { atMs, convention } = schedule;
  if (nowMs < atMs) return undefined;
  const what = `${nameOf(view)} expired at ${timeOf(atMs)} (${convention.key}), by the operator's clock or an API server's, and still exists`;
  // Its enforcer may be about to delete it; nothing else does.
  if (!requested && nowMs < atMs + STALLED_AFTER_MS)
    return { ...tell(expiring, "NotRequested", `${what}.`), status: "True", reason: "AccessEnded", isStalled: false };
  const wayOut = "Set a later expiry, or delete the binding.";
  return tell(expiring, "Ended", `${what}; the operator never extends access that has ended. ${wayOut}`);
}

/** Neither the spec nor the binding itself asks for a renewal: only a person who may bind the role decides that access lives on. */
function notRequested(expiring: ExpiringCase): BindingFinding | undefined {
  const { requested, nowMs, schedule } = expiring;
  if (requested) return undefined;
  if (nowMs < schedule.warnAtMs) return tell(expiring, "Current", `${clauseOf(expiring)}.`);
  const sentence =
    `${clauseOf(expiring)}, and no renewal is requested. To renew it, name it in spec.bindingRenewal.bindings, or annotate it with ` +
    `${RENEW_ANNOTATION}=true. To let it expire, annotate it with ${SKIP_ANNOTATION}=true.`;
  return tell(expiring, "NotRequested", sentence);
}

/** A copy of access that a person had ended. Its entry in status stays as it was. */
function revoked(expiring: ExpiringCase): BindingFinding | undefined {
  const { record, memory, view } = expiring;
  if (record?.state !== "Revoked" || !memory.isNoted) return undefined;
  const sentence =
    `${clauseOf(expiring)} and is not renewed: it was deleted before, and this is a copy, as from a backup; the operator never extends access ` +
    `that has ended. To renew it, remove ${LATEST_EXPIRY_ANNOTATION} from ${nameOf(view)}.`;
  return tell(expiring, "Revoked", sentence);
}

/** A copy of access that had ended, as a backup brings it back: a duration counts from the copy's creation, so it seems to live on. */
function restored(expiring: ExpiringCase): BindingFinding | undefined {
  const { memory, schedule, view } = expiring;
  if (!memory.isNoted || memory.latestMs > view.createdAtMs) return undefined;
  const sentence =
    `${clauseOf(expiring)} and is not renewed: it was created after its latest expiry, ${timeOf(memory.latestMs)}, as from a backup, and ` +
    `the operator never extends access that has ended. To renew it, set ${LATEST_EXPIRY_ANNOTATION} to ${timeOf(schedule.atMs)}.`;
  return tell(expiring, "Contested", sentence);
}

/** Who moved the expiry is unknown: a person who revokes access, or a tool that reverts a renewal. */
function expiryShortened(expiring: ExpiringCase): BindingFinding | undefined {
  const { memory, schedule } = expiring;
  if (!isContested(memory, schedule.atMs)) return undefined;
  const latest = timeOf(memory.latestMs);
  const sentence =
    `${clauseOf(expiring)} and is not renewed: its expiry was ${latest}, and an earlier one counts as a revocation. To renew it again, ` +
    `set that expiry or a later one, or set ${LATEST_EXPIRY_ANNOTATION} to ${timeOf(schedule.atMs)}. ` +
    `If Git contains ${schedule.convention.key}, remove it there.`;
  return { ...tell(expiring, "Contested", sentence), ...noted(expiring) };
}

/** Each key has another enforcer, and a later one may be the end that a person has set. */
function severalExpiries(expiring: ExpiringCase): BindingFinding | undefined {
  const { keys } = expiring.expiry;
  if (keys.length === 1) return undefined;
  const sentence = `${clauseOf(expiring)} and is not renewed: several keys say when it expires (${keys.join(", ")}); keep one of them.`;
  return { ...tell(expiring, "Malformed", sentence), ...noted(expiring) };
}

/** No later expiry is requested, or none can be written. Reported as every end, from the first warning on. */
function renewalEnded(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, renewal, schedule, spec } = expiring;
  if (renewal !== undefined || nowMs < schedule.warnAtMs) return undefined;
  const untilMs = renewUntilMs(spec);
  const why = Number.isFinite(untilMs)
    ? `spec.bindingRenewal.renewUntil allows no expiry after ${timeOf(untilMs)}; review the access, then set a later date`
    : "no later time can be written; spec.bindingRenewal.extendBy may help";
  return tell(expiring, "NotRequested", `${clauseOf(expiring)} and is not renewed: ${why}.`);
}

function permissionMissing(expiring: ExpiringCase): BindingFinding | undefined {
  const { lacks = [] } = expiring.review ?? {};
  if (lacks.length === 0) return undefined;
  const sentence = `${clauseOf(expiring)} and cannot be renewed: the operator's ServiceAccount lacks ${rulesOf(lacks)}.`;
  return tell(expiring, "Forbidden", sentence);
}

function roleTooPowerful(expiring: ExpiringCase): BindingFinding | undefined {
  const { review, view } = expiring;
  if (review?.excess === undefined) return undefined;
  const { kind, name } = view.roleRef;
  const sentence = `${clauseOf(expiring)} and is not renewed: ${kind} ${name} ${review.excess}, so an operator that binds it is as good as cluster-admin; create a narrower role for the ServiceAccount.`;
  return tell(expiring, "Refused", sentence);
}

/** Only a role that was read is bound. Unknown means no action, but no wait is for ever; and one failed read ends no refusal. */
function roleUnread(expiring: ExpiringCase): BindingFinding | undefined {
  const { review, record, view, nowMs, schedule } = expiring;
  if (review?.unread === undefined) return undefined;
  const role = `${nameOf(view.roleRef)}: ${review.unread}`;
  if (record?.state === "Refused" || record?.state === "Forbidden") {
    const sentence = `${clauseOf(expiring)} and is not renewed, as before; the operator cannot read ${role}.`;
    return tell(expiring, record.state, sentence);
  }
  if (nowMs < schedule.renewAtMs) return undefined;
  const sentence = `${clauseOf(expiring)}; the renewal waits: the operator binds no role unread, and cannot read ${role}.`;
  const waiting = unrenewed(tell(expiring, "ExpiringSoon", sentence), schedule, nowMs);
  return { ...waiting, nextMs: [nowMs + RETRY_MS, schedule.stalledAtMs] };
}

/** Also if it became due since the reads, which reviewed no role then. */
function beforeRenewal(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, schedule, review } = expiring;
  if (nowMs >= schedule.renewAtMs && review !== undefined) return undefined;
  const isSoon = nowMs >= schedule.warnAtMs;
  const then = isSoon ? `; the operator renews it at ${timeOf(schedule.renewAtMs)}` : "";
  return {
    ...tell(expiring, isSoon ? "ExpiringSoon" : "Current", `${clauseOf(expiring)}${then}.`),
    ...noted(expiring),
  };
}

function renew(expiring: ExpiringCase): BindingFinding | undefined {
  const { view, renewal, schedule, mode } = expiring;
  if (renewal === undefined) return undefined;
  const why = `${nameOf(view)} is renewed until ${timeOf(renewal.expiryMs)}; its previous expiry was ${timeOf(schedule.atMs)} (${schedule.convention.key}).`;
  const next = mode === "Enforce" ? "the operator renews it next" : `${whatWould(mode)} renew it now`;
  return {
    ...tell(expiring, "ExpiringSoon", `${clauseOf(expiring)}; ${next}.`),
    ...(mode === "Enforce" ? {} : { status: "False", reason: "WouldRenew" }),
    intents: [buildPatch(view, renewal.changes, { why, eventReason: "BindingRenewed" })],
    renews: expiring,
  };
}

/** The write of the latest expiry, only where a renewal could be written: the rights are there, and the role was read. */
function noted({ mode, review, memory, schedule, view }: ExpiringCase): Pick<BindingFinding, "intents"> {
  const note = noteOf(memory, schedule.atMs);
  if (note === undefined || mode !== "Enforce" || review?.lacks.length !== 0 || review.unread !== undefined) return {};
  return { intents: [buildNote(view, note)] };
}
