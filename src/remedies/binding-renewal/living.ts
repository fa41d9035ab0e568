import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION, RENEW_ANNOTATION, SKIP_ANNOTATION } from "../../api/names";
import { whatWould, type EventRequest } from "../../core/remedy";
import { type Check, firstMatch } from "../../core/checks";
import { type BindingFinding, buildNote, buildPatch, nameOf, planGone, refOf, unrenewed } from "./finding";
import type { LivingBinding, ObservedBindings } from "./observe";
import type { Reason } from "./reasons";
import { rulesOf } from "./rights";
import { isContested, noteOf, planRenewal, type Renewal, renewUntilMs, type Schedule, timeOf } from "./schedule";

// What to report and write for a binding that exists: the first check that applies decides. Pure and total.

/** A person must act after this time, or after a third of the time that is left for the write, if that is less. */
const STALLED_AFTER_MS = 3_600_000;

/** Delay of the next read of a role after one that failed, in milliseconds. */
const RETRY_MS = 60_000;

type State = BindingStatus["state"];

/** A binding that exists, with everything that is computed from it. */
interface BindingCase extends LivingBinding {
  readonly mode: ObservedBindings["mode"];
  readonly spec: BindingRenewalSpec;
  /** By the operator's clock, or by an API server's that is ahead. */
  readonly nowMs: number;
}

interface ExpiringCase extends BindingCase {
  readonly schedule: Schedule;
  readonly untilMs: number;
  /** What a renewal would write now; undefined before the first warning, and if no later time can be written. */
  readonly renewal: Renewal | undefined;
}

const CHECKS: readonly Check<BindingCase, BindingFinding>[] = [
  terminating,
  hasSkipAnnotation,
  ownedByAnother,
  malformed,
  neverExpires,
];

const EXPIRING_CHECKS: readonly Check<ExpiringCase, BindingFinding>[] = [
  expired,
  notRequested,
  expiryShortened,
  severalExpiries,
  renewalEnded,
  permissionMissing,
  roleTooPowerful,
  roleUnread,
  beforeRenewal,
  observeOnly,
  renew,
];

/** What to report and write for a binding that exists. */
export function planLiving(
  binding: LivingBinding,
  mode: ObservedBindings["mode"],
  spec: BindingRenewalSpec,
  nowMs: number,
): BindingFinding {
  const { view, expiry, schedule } = binding;
  const known = { ...binding, mode, spec, nowMs };
  const finding = firstMatch(CHECKS, known);
  if (finding !== undefined || schedule === undefined) return finding ?? current(known, `${nameOf(view)}.`);
  const untilMs = renewUntilMs(spec);
  // Computing a renewal takes longer than everything else, and nothing needs it before the first warning.
  const renewal = nowMs >= schedule.warnAtMs ? planRenewal(view, expiry, schedule, untilMs) : undefined;
  const expiring = { ...known, schedule, untilMs, renewal };
  return {
    nextMs: timesOf(schedule),
    ...(firstMatch(EXPIRING_CHECKS, expiring) ?? current(known, `${clauseOf(expiring)}.`)),
  };
}

/** When another check may apply. */
function timesOf(schedule: Schedule): number[] {
  return [schedule.warnAtMs, schedule.renewAtMs, stalledFrom(schedule), schedule.expiryMs];
}

function current(known: BindingCase, sentence: string): BindingFinding {
  return { status: "True", reason: "Current", sentence, entry: entryOf(known, "Current") };
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
  const sentence = `${nameOf(known.view)} is not renewed: it has the skip annotation.`;
  return { status: "True", reason: "Current", sentence, entry: entryOf(known, "Skipped") };
}

/** Just-in-time access operators keep the expiry in an object of their own and would revert a change of the binding. */
function ownedByAnother(known: BindingCase): BindingFinding | undefined {
  const { view, requested, schedule, nowMs } = known;
  if (view.owner === undefined) return undefined;
  const { kind, name } = view.owner;
  const sentence = `${nameOf(view)} is not renewed: it is owned by ${kind} ${name}; extend that object instead.`;
  // The end of a binding that nothing asks for is of interest only from its first warning on.
  const matters = requested || (schedule !== undefined && nowMs >= schedule.warnAtMs);
  return { ...problem(known, "Refused", sentence), status: matters ? "False" : "True", isStalled: matters };
}

/** The enforcer ignores a value that it cannot read, and so does the operator. */
function malformed(known: BindingCase): BindingFinding | undefined {
  const first = known.expiry.malformed[0] ?? known.memory.malformed[0];
  if (first === undefined) return undefined;
  const { key, value, expected } = first;
  const sentence = `${nameOf(known.view)} is not renewed: found ${key} "${value}", expected ${expected}.`;
  return problem(known, "Malformed", sentence);
}

function neverExpires(known: BindingCase): BindingFinding | undefined {
  if (known.expiry.earliest !== undefined) return undefined;
  const sentence = `${nameOf(known.view)} has no expiry that the operator can read.`;
  return { status: "True", reason: "Current", sentence, entry: entryOf(known, "Never") };
}

/** An expiry in the past is never extended: the access has ended, whatever still holds the binding. */
function expired(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, schedule, view, requested } = expiring;
  if (nowMs < schedule.expiryMs) return undefined;
  const what = `${nameOf(view)} expired at ${timeOf(schedule.expiryMs)} (${schedule.source}), by the operator's clock or an API server's, and still exists`;
  // Its enforcer may be about to delete it; nothing else does.
  if (!requested && nowMs < schedule.expiryMs + STALLED_AFTER_MS)
    return { ...current(expiring, `${what}.`), entry: entryOf(expiring, "NotRequested") };
  const wayOut = "Set a later expiry, or delete the binding.";
  return problem(expiring, "Ended", `${what}; the operator never extends access that has ended. ${wayOut}`);
}

/** Neither the spec nor the binding itself asks for a renewal: only a person who may bind the role decides that access lives on. */
function notRequested(expiring: ExpiringCase): BindingFinding | undefined {
  const { requested, nowMs, schedule } = expiring;
  if (requested) return undefined;
  if (nowMs < schedule.warnAtMs) return current(expiring, `${clauseOf(expiring)}.`);
  const sentence =
    `${clauseOf(expiring)}, and no renewal is requested. To renew it, name it in spec.bindingRenewal.bindings, or annotate it with ` +
    `${RENEW_ANNOTATION}=true. To let it expire, annotate it with ${SKIP_ANNOTATION}=true.`;
  return problem(expiring, "NotRequested", sentence);
}

/** Who moved the expiry is unknown: a person who revokes access, or a tool that reverts a renewal. */
function expiryShortened(expiring: ExpiringCase): BindingFinding | undefined {
  const { memory, schedule } = expiring;
  if (!isContested(memory, schedule.expiryMs)) return undefined;
  const latest = timeOf(memory.latestMs);
  const sentence =
    `${clauseOf(expiring)} and is not renewed: its expiry was ${latest}, and an earlier one counts as a revocation. To renew it again, ` +
    `set that expiry or a later one, or set ${LATEST_EXPIRY_ANNOTATION} to ${timeOf(schedule.expiryMs)}. ` +
    `If Git contains ${schedule.source}, remove it there.`;
  return { ...problem(expiring, "Contested", sentence), ...noted(expiring) };
}

/** Each key has another enforcer, and a later one may be the end that a person has set. */
function severalExpiries(expiring: ExpiringCase): BindingFinding | undefined {
  const { keys } = expiring.expiry;
  if (keys.length === 1) return undefined;
  const sentence = `${clauseOf(expiring)} and is not renewed: several keys say when it expires (${keys.join(", ")}); keep one of them.`;
  return { ...problem(expiring, "Malformed", sentence), ...noted(expiring) };
}

/** No later expiry is requested, or none can be written. Reported as every end, from the first warning on. */
function renewalEnded(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, renewal, schedule, untilMs } = expiring;
  if (renewal !== undefined || nowMs < schedule.warnAtMs) return undefined;
  const why = Number.isFinite(untilMs)
    ? `spec.bindingRenewal.renewUntil allows no expiry after ${timeOf(untilMs)}; review the access, then set a later date`
    : "no later time can be written; spec.bindingRenewal.extendBy may help";
  return problem(expiring, "NotRequested", `${clauseOf(expiring)} and is not renewed: ${why}.`);
}

function permissionMissing(expiring: ExpiringCase): BindingFinding | undefined {
  const { lacks = [] } = expiring.review ?? {};
  if (lacks.length === 0) return undefined;
  const sentence = `${clauseOf(expiring)} and cannot be renewed: the operator's ServiceAccount lacks ${rulesOf(lacks)}.`;
  return problem(expiring, "Forbidden", sentence);
}

function roleTooPowerful(expiring: ExpiringCase): BindingFinding | undefined {
  const { review, view } = expiring;
  if (review?.excess === undefined) return undefined;
  const { kind, name } = view.roleRef;
  const sentence = `${clauseOf(expiring)} and is not renewed: ${kind} ${name} ${review.excess}, so an operator that binds it is as good as cluster-admin; create a narrower role for the ServiceAccount.`;
  return problem(expiring, "Refused", sentence);
}

/** Only a role that was read is bound. Unknown means no action, but no wait is for ever; and one failed read ends no refusal. */
function roleUnread(expiring: ExpiringCase): BindingFinding | undefined {
  const { review, record, view, nowMs, schedule } = expiring;
  if (review?.unread === undefined) return undefined;
  const role = `${nameOf(view.roleRef)}: ${review.unread}`;
  if (record?.state === "Refused" || record?.state === "Forbidden")
    return problem(
      expiring,
      record.state,
      `${clauseOf(expiring)} and is not renewed, as before; the operator cannot read ${role}.`,
    );
  if (nowMs < schedule.renewAtMs) return undefined;
  const sentence = `${clauseOf(expiring)}; the renewal waits: the operator binds no role unread, and cannot read ${role}.`;
  const due = { dueMs: schedule.renewAtMs, stalledMs: stalledFrom(schedule) };
  const nextMs = [nowMs + RETRY_MS, due.stalledMs];
  return { ...unrenewed(expiringSoon(expiring, sentence), due, nowMs), nextMs };
}

function stalledFrom({ renewAtMs, expiryMs }: Schedule): number {
  return renewAtMs + Math.min(STALLED_AFTER_MS, (expiryMs - renewAtMs) / 3);
}

/** Also if it became due since the reads, which reviewed no role then. */
function beforeRenewal(expiring: ExpiringCase): BindingFinding | undefined {
  const { nowMs, schedule, review } = expiring;
  if (nowMs >= schedule.renewAtMs && review !== undefined) return undefined;
  const found =
    nowMs < schedule.warnAtMs
      ? current(expiring, `${clauseOf(expiring)}.`)
      : expiringSoon(expiring, `${clauseOf(expiring)}; the operator renews it at ${timeOf(schedule.renewAtMs)}.`);
  return { ...found, ...noted(expiring) };
}

function observeOnly(expiring: ExpiringCase): BindingFinding | undefined {
  const { mode } = expiring;
  const renewed = mode === "Enforce" ? undefined : renew(expiring);
  if (mode === "Enforce" || renewed === undefined) return undefined;
  const sentence = `${clauseOf(expiring)}; ${whatWould(mode)} renew it now.`;
  return { ...renewed, status: "False", reason: "WouldRenew", sentence };
}

function renew(expiring: ExpiringCase): BindingFinding | undefined {
  const { view, renewal, schedule } = expiring;
  if (renewal === undefined) return undefined;
  const clause = clauseOf(expiring);
  const expiryTime = timeOf(renewal.expiryMs);
  const why = `${nameOf(view)} is renewed until ${expiryTime}; its previous expiry was ${timeOf(schedule.expiryMs)} (${schedule.source}).`;
  return {
    ...expiringSoon(expiring, `${clause}; the operator renews it next.`),
    intents: [{ ...buildPatch(view, renewal.changes, why), eventReason: "BindingRenewed" }],
    renewal: { view, expiryTime, clause, dueMs: schedule.renewAtMs, stalledMs: stalledFrom(schedule) },
  };
}

function expiringSoon(expiring: ExpiringCase, sentence: string): BindingFinding {
  const { record, view } = expiring;
  const event: EventRequest = {
    type: "Normal",
    reason: "BindingExpiringSoon",
    note: `${clauseOf(expiring)}.`,
    about: refOf(view),
  };
  return {
    ...current(expiring, sentence),
    entry: entryOf(expiring, "ExpiringSoon"),
    ...(record?.state === "ExpiringSoon" ? {} : { events: [event] }),
  };
}

/**
 * States that need a person: the reason of the condition, and that of the Event, once per change to the state. Status holds it, so there is one
 * Event whichever replica leads.
 */
const PROBLEMS = {
  Refused: ["BindingRefused", "BindingRefused"],
  Malformed: ["MalformedExpiry", "BindingMalformed"],
  Ended: ["AccessEnded", "BindingNotRenewed"],
  NotRequested: ["RenewalNotRequested", "BindingExpiringSoon"],
  Contested: ["Contested", "BindingContested"],
  Forbidden: ["Forbidden", "BindingRenewalForbidden"],
} as const satisfies Partial<Record<State, readonly [Reason, string]>>;

/** The binding is not renewed, and a person must act. */
function problem(known: BindingCase, state: keyof typeof PROBLEMS, sentence: string): BindingFinding {
  const [reason, event] = PROBLEMS[state];
  const about = refOf(known.view);
  const isNew = known.record?.state !== state;
  return {
    status: "False",
    reason,
    sentence,
    entry: entryOf(known, state),
    isStalled: true,
    ...(isNew ? { events: [{ type: "Warning", reason: event, note: sentence, about }] } : {}),
  };
}

/** States in which the operator is going to renew the binding. */
const RENEWED: ReadonlySet<State> = new Set(["Current", "ExpiringSoon"]);

function entryOf(known: BindingCase, state: State): BindingStatus {
  const { kind, namespace, name, uid, roleRef } = known.view;
  const lastRenewalTime = known.record?.lastRenewalTime;
  return {
    kind,
    name,
    ...(namespace === "" ? {} : { namespace }),
    uid,
    state,
    role: `${roleRef.kind}/${roleRef.name}`,
    ...timesIn(known, RENEWED.has(state)),
    ...(lastRenewalTime === undefined ? {} : { lastRenewalTime }),
  };
}

function timesIn({ requested, schedule, memory }: BindingCase, isRenewed: boolean): Partial<BindingStatus> {
  const latestMs = Math.max(memory.latestMs, schedule?.expiryMs ?? -Infinity);
  const latest = Number.isFinite(latestMs) ? { latestExpiryTime: timeOf(latestMs) } : {};
  if (schedule === undefined) return latest;
  const { expiryMs, renewAtMs, source } = schedule;
  const renewTime = requested && isRenewed ? { renewTime: timeOf(renewAtMs) } : {};
  return { expiryTime: timeOf(expiryMs), ...renewTime, ...latest, source };
}

/** The write of the latest expiry, only where a renewal could be written: the rights are there, and the role was read. */
function noted({ mode, review, memory, schedule, view }: ExpiringCase): Pick<BindingFinding, "intents"> {
  const note = noteOf(memory, schedule.expiryMs);
  if (note === undefined || mode !== "Enforce" || review?.lacks.length !== 0 || review.unread !== undefined) return {};
  return { intents: [buildNote(view, note)] };
}

/** `RoleBinding edit expires at 2025-01-31T00:00:00Z (janitor/ttl)`. */
function clauseOf({ view, schedule }: ExpiringCase): string {
  return `${nameOf(view)} expires at ${timeOf(schedule.expiryMs)} (${schedule.source})`;
}
