import type { BindingRenewalSpec, BindingStatus } from "../../../api/controller-resilience";
import { formatDuration } from "../../../core/duration";
import { whatWould } from "../../../core/mode";
import { type Check, firstMatch } from "../../kit/checks";
import { buildRestore, refOfGone } from "../intents";
import type { GoneBinding, ObservedBindings } from "../observed";
import { isBeforeExpiry, isContested, isFinal, latestMs, timeOf, wasSeenSince, withoutRenewalPlan } from "../record";
import { planRestore, renewUntilMs, type RestoreWindow, restoreWindowOf, type Restoring } from "../schedule";
import { isListed, isUndecided, refusalOf } from "../scope";
import { deletionOf, nameOf, rulesOf, tooPowerful } from "../wording";
import { type BindingFinding, eventOnEntering } from "./finding";
import { stalledFrom, waitForRole } from "./unread";

interface GoneCase extends GoneBinding {
  readonly observed: ObservedBindings;
  readonly spec: BindingRenewalSpec;
  /** The spec names it. */
  readonly listed: boolean;
  readonly nowMs: number;
  /** What a restore would write; undefined if no later time can be written. */
  readonly renewal: Restoring | undefined;
  /** Undefined if status does not contain its life. */
  readonly window: RestoreWindow | undefined;
}

/** If no check applies, the operator recreates the binding. */
const CHECKS: readonly Check<GoneCase, BindingFinding>[] = [
  deletedBeforeExpiry,
  alreadyExpired,
  notRestorable,
  targetMissing,
  permissionMissing,
  roleTooPowerful,
  roleUnread,
  observeOnly,
  restoreNotRecorded,
  restore,
];

/** What to report and write for a binding that is gone. Pure and total. */
export function planGone(
  binding: GoneBinding,
  observed: ObservedBindings,
  spec: BindingRenewalSpec,
  nowMs: number,
): BindingFinding {
  const { record } = binding;
  const renewal = planRestore(record, spec, { nowMs, latestMs: renewUntilMs(spec) });
  const window = restoreWindowOf(record, spec);
  const listed = isListed(spec, record.kind, record.name);
  const gone = { ...binding, observed, spec, nowMs, renewal, window, listed };
  const finding = firstMatch(CHECKS, gone) ?? expired(record, `${deletionOf(record)}.`, listed);
  const endMs = finding.entry === undefined || isFinal(finding.entry) ? [] : [(window?.untilMs ?? Infinity) + 1];
  return { ...finding, nextMs: [...(finding.nextMs ?? []), ...endMs] };
}

function deletedBeforeExpiry({ record, seenMs, listed }: GoneCase): BindingFinding | undefined {
  const isRevoked = record.state === "Revoked" || (record.state !== "Expired" && isBeforeExpiry(record, seenMs));
  return isRevoked ? revocation(record, listed, record.state) : undefined;
}

/** The finding for a binding that was deleted before its expiry, from the start of its deletion on. */
export function revocation(
  record: BindingStatus,
  listed: boolean,
  before: BindingStatus["state"] | undefined,
): BindingFinding {
  const sentence = `${nameOf(record)} was deleted before its expiry at ${record.expiryTime ?? ""}: the operator takes that for a revocation and never restores it. Recreate it if that was a mistake.`;
  const event = { type: "Warning", reason: "BindingRevoked", note: sentence } as const;
  return {
    ...final(record, "Revoked", listed),
    reason: "Revoked",
    sentence,
    ...eventOnEntering("Revoked", before, event, refOfGone(record)),
  };
}

function alreadyExpired({ record, listed }: GoneCase): BindingFinding | undefined {
  if (record.state !== "Expired") return undefined;
  return expired(record, `${deletionOf(record)}; the operator does not restore it. Recreate it if needed.`, listed);
}

function notRestorable(gone: GoneCase): BindingFinding | undefined {
  const why = blocker(gone);
  if (why === undefined) return undefined;
  return expired(
    gone.record,
    `${deletionOf(gone.record)}; it is not restored: ${why}. Recreate it if needed.`,
    gone.listed,
  );
}

function blocker(gone: GoneCase): string | undefined {
  const { record, spec, observed, listed, renewal } = gone;
  if (!spec.restoreExpired) return "spec.bindingRenewal.restoreExpired is false";
  if (record.roleRef === undefined) return "status does not contain its role, which Observe mode does not record";
  const refusal = isUndecidedYet(gone) ? undefined : refusalOf(record, observed, listed);
  if (refusal !== undefined) return `it ${refusal}`;
  if (isContested(record, { expiryMs: Date.parse(record.expiryTime ?? "") }, observed.specHash)) {
    return `an earlier expiry than ${timeOf(latestMs(record))} counts as a revocation`;
  }
  const lapse = lapseOf(gone);
  if (lapse !== undefined) return lapse;
  if (renewal !== undefined) return undefined;
  const untilMs = renewUntilMs(spec);
  return Number.isFinite(untilMs)
    ? `spec.bindingRenewal.renewUntil is ${timeOf(untilMs)}`
    : "status does not contain its life; spec.bindingRenewal.extendBy may help";
}

function isUndecidedYet({ record, observed, listed }: GoneCase): boolean {
  return !listed && isUndecided(record, observed);
}

/** A missing target may run as one of its subjects: it may be replaced just now. */
function targetMissing(gone: GoneCase): BindingFinding | undefined {
  if (!isUndecidedYet(gone)) return undefined;
  const sentence = `${deletionOf(gone.record)}; it is not restored yet: a missing target may run as one of its ServiceAccounts.`;
  return { status: "False", reason: "Restoring", sentence, entry: gone.record, isProgressing: true };
}

/** Why it is too late for a restore, or may be. */
function lapseOf({ record, window, nowMs }: GoneCase): string | undefined {
  if (window === undefined) return undefined;
  if (nowMs > window.untilMs) return `it expired more than ${formatDuration(window.lengthMs)} ago`;
  if (wasSeenSince(record, window.seenFromMs)) return undefined;
  return "status does not show that it existed shortly before its expiry";
}

function expired(record: BindingStatus, sentence: string, listed: boolean): BindingFinding {
  const event = { type: "Warning", reason: "BindingExpired", note: sentence } as const;
  return {
    ...final(record, "Expired", listed),
    reason: "Expired",
    sentence,
    ...eventOnEntering("Expired", record.state, event, refOfGone(record)),
  };
}

/** The author of the spec still asks for a listed binding, so its absence is a problem. An unlisted one is no longer needed. */
function final(record: BindingStatus, state: "Revoked" | "Expired", listed: boolean) {
  const entry = { ...withoutRenewalPlan(record), state };
  return { status: listed ? ("False" as const) : ("True" as const), entry, isStalled: listed };
}

function permissionMissing({ lacks, record }: GoneCase): BindingFinding | undefined {
  if (lacks.length === 0) return undefined;
  const sentence = `${deletionOf(record)}; it cannot be restored: the operator's ServiceAccount lacks ${rulesOf(lacks)}.`;
  const event = { type: "Warning", reason: "BindingRenewalForbidden", note: sentence } as const;
  return {
    status: "False",
    reason: "RenewalForbidden",
    sentence,
    entry: { ...record, state: "Forbidden" },
    isStalled: true,
    ...eventOnEntering("Forbidden", record.state, event, refOfGone(record)),
  };
}

function roleTooPowerful({ excess, record }: GoneCase): BindingFinding | undefined {
  if (excess === undefined || record.roleRef === undefined) return undefined;
  const sentence = `${deletionOf(record)}; it is not restored: ${tooPowerful(record.roleRef, excess)}.`;
  const event = { type: "Warning", reason: "BindingRefused", note: sentence } as const;
  return {
    status: "False",
    reason: "BindingRefused",
    sentence,
    entry: { ...withoutRenewalPlan(record), state: "Refused" },
    isStalled: true,
    ...eventOnEntering("Refused", record.state, event, refOfGone(record)),
  };
}

/** Only a role that was read is bound. */
function roleUnread({ unread, record, window, nowMs }: GoneCase): BindingFinding | undefined {
  if (unread === undefined || record.roleRef === undefined) return undefined;
  const dueMs = Date.parse(record.expiryTime ?? "");
  const wait = { dueMs, endMs: window?.untilMs ?? dueMs, nowMs };
  const role = `${nameOf(record.roleRef)}: ${unread}`;
  return { ...waitForRole("restore", deletionOf(record), role, wait), entry: record };
}

function observeOnly(gone: GoneCase): BindingFinding | undefined {
  const { mode } = gone.observed;
  const restored = mode === "Enforce" ? undefined : restore(gone);
  if (mode === "Enforce" || restored === undefined) return undefined;
  const sentence = `${deletionOf(gone.record)}; ${whatWould(mode)} restore it now.`;
  return { ...restored, status: "False", reason: "WouldRenew", sentence };
}

/** The new expiry must be in status before the write: the next leader could not distinguish a restore from another client's create. */
function restoreNotRecorded({ record, renewal, nowMs }: GoneCase): BindingFinding | undefined {
  const renewingUntil = renewal?.isExact === true ? timeOf(renewal.expiryMs) : undefined;
  if (renewingUntil === undefined || record.renewingUntil === renewingUntil) return undefined;
  return {
    status: "False",
    reason: "Restoring",
    sentence: `${deletionOf(record)}; the operator restores it next.`,
    entry: { ...record, renewingUntil },
    // The next pass follows as soon as status is written.
    nextMs: [nowMs + 1],
  };
}

function restore({ record, observed, renewal, window }: GoneCase): BindingFinding | undefined {
  if (renewal === undefined) return undefined;
  const dueMs = Date.parse(record.expiryTime ?? "");
  const stalledMs = stalledFrom({ dueMs, endMs: window?.untilMs ?? dueMs });
  const why = `${nameOf(record)} is recreated with the same role and subjects until ${timeOf(renewal.expiryMs)}; it expired at ${record.expiryTime ?? ""} and was deleted.`;
  const intent = buildRestore(record, renewal, { why, specHash: observed.specHash });
  return {
    status: "True",
    reason: "Current",
    sentence: `${deletionOf(record)}; the operator restores it next.`,
    entry: record,
    intents: [intent],
    write: { action: "restore", intent, expiry: deletionOf(record), dueMs, stalledMs },
  };
}
