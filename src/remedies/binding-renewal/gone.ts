import type { BindingStatus } from "../../api/controller-resilience";
import { buildRestore, nameOf, refOfGone, timeOf, withoutPlan } from "./build";
import { isPutBack, wentEarly, type BindingRenewalFacts, type GoneBinding, type Spec } from "./facts";
import { announcedOnce, type Check, type Finding, firstOf } from "./finding";
import { ruleOf } from "./rights";
import { planRestore, renewUntilMs, type Restoring } from "./schedule";
import { isListed, refusalOf } from "./scope";

interface GoneCase extends GoneBinding {
  readonly facts: BindingRenewalFacts;
  readonly spec: Spec;
  readonly listed: boolean;
  readonly nowMs: number;
  /** What it would be created with; undefined where it could not live on. */
  readonly renewal: Restoring | undefined;
}

/** The first that has something to say decides; if none has, the binding is created again. */
const CHECKS: readonly Check<GoneCase>[] = [
  // It went before its time: somebody wanted that.
  revoked,
  // It was left to expire.
  expired,
  // The author does not want it back, or nobody may.
  notRestored,
  // A right is missing.
  forbidden,
  // Observe only reports.
  wouldRestore,
  // Until when it is to live has to stand in status first: whoever leads next could not tell it from what somebody else has created.
  unrecorded,
  restore,
];

/** What is to be said and done about a binding that has vanished. Pure and total. */
export function assessGone(gone: GoneBinding, facts: BindingRenewalFacts, spec: Spec, nowMs: number): Finding {
  const { record } = gone;
  const renewal = planRestore(record, spec, { nowMs, latestMs: renewUntilMs(spec) });
  const given = { ...gone, facts, spec, nowMs, renewal, listed: isListed(spec, record.kind, record.name) };
  return firstOf(CHECKS, given) ?? over(record, `${vanished(record)}.`, given.listed);
}

function revoked({ record, seenMs, listed }: GoneCase): Finding | undefined {
  const isRevoked = record.state === "Revoked" || (record.state !== "Expired" && wentEarly(record, seenMs));
  return isRevoked ? revocation(record, listed, record.state) : undefined;
}

/** What is said of a binding that was deleted before its expiry, from the moment on at which its deletion began. */
export function revocation(
  record: BindingStatus,
  listed: boolean,
  before: BindingStatus["state"] | undefined,
): Finding {
  const note = `${nameOf(record)} was deleted before its expiry at ${record.expiryTime ?? ""}, which is taken for a revocation: it stays away until somebody creates it.`;
  return {
    ...final(record, "Revoked", listed),
    reason: "Revoked",
    sentence: note,
    ...announcedOnce(before, "Revoked", { type: "Warning", reason: "BindingRevoked", note }, refOfGone(record)),
  };
}

function expired({ record, listed }: GoneCase): Finding | undefined {
  if (record.state !== "Expired") return undefined;
  return over(record, `${vanished(record)} and was not restored: it stays away until somebody creates it.`, listed);
}

function notRestored(given: GoneCase): Finding | undefined {
  const why = obstacle(given);
  if (why === undefined) return undefined;
  return over(given.record, `${vanished(given.record)} and is not restored: ${why}.`, given.listed);
}

function obstacle({ record, spec, facts, listed, renewal }: GoneCase): string | undefined {
  if (!spec.restoreExpired) return "spec.bindingRenewal.restoreExpired is false";
  const refusal = refusalOf(record, facts, listed);
  if (refusal !== undefined) return `it ${refusal}`;
  if (isPutBack(record, Date.parse(record.expiryTime ?? ""), facts.generation)) {
    return `it was renewed until ${record.renewedUntil ?? ""}, and somebody has put that back`;
  }
  if (renewal !== undefined) return undefined;
  const untilMs = renewUntilMs(spec);
  return Number.isFinite(untilMs)
    ? `spec.bindingRenewal.renewUntil is ${timeOf(untilMs)}`
    : "status does not tell for how long it lived; spec.bindingRenewal.extendBy may help";
}

function over(record: BindingStatus, note: string, listed: boolean): Finding {
  const words = { type: "Warning", reason: "BindingExpired", note } as const;
  return {
    ...final(record, "Expired", listed),
    reason: "Expired",
    sentence: note,
    ...announcedOnce(record.state, "Expired", words, refOfGone(record)),
  };
}

/**
 * A listed binding is still asked for, in Git perhaps, so something is amiss until that is settled. One that was found by itself is
 * nobody's wish any more.
 */
function final(record: BindingStatus, state: "Revoked" | "Expired", listed: boolean) {
  const entry = { ...withoutPlan(record), state };
  return { status: listed ? ("False" as const) : ("True" as const), entry, isStalled: listed };
}

function forbidden({ lacks, record }: GoneCase): Finding | undefined {
  if (lacks.length === 0) return undefined;
  const note = `${vanished(record)} and can't be restored: the operator's ServiceAccount lacks ${lacks.map(ruleOf).join(" and ")}.`;
  const words = { type: "Warning", reason: "BindingRenewalForbidden", note } as const;
  return {
    status: "False",
    reason: "RenewalForbidden",
    sentence: note,
    entry: { ...record, state: "Forbidden" },
    isStalled: true,
    ...announcedOnce(record.state, "Forbidden", words, refOfGone(record)),
  };
}

function wouldRestore(given: GoneCase): Finding | undefined {
  const finding = given.facts.mode === "Enforce" ? undefined : restore(given);
  if (finding === undefined) return undefined;
  const sentence = `${vanished(given.record)} and would be restored now.`;
  return { ...finding, status: "False", reason: "WouldRenew", sentence };
}

function unrecorded({ record, renewal, nowMs }: GoneCase): Finding | undefined {
  const renewingUntil = renewal?.isExact === true ? timeOf(renewal.expiryMs) : undefined;
  if (renewingUntil === undefined || record.renewingUntil === renewingUntil) return undefined;
  return {
    status: "False",
    reason: "Restoring",
    sentence: `${vanished(record)} and is about to be restored.`,
    entry: { ...record, renewingUntil },
    // Looked at again as soon as that was written.
    nextMs: [nowMs + 1],
  };
}

/** What holds once it was carried out; `concludeBindings` says it where it was not. */
function restore({ record, facts, renewal }: GoneCase): Finding | undefined {
  if (renewal === undefined) return undefined;
  const why = `${vanished(record)}; created again with the same role and subjects, until ${timeOf(renewal.expiryMs)}.`;
  return {
    status: "True",
    reason: "Current",
    sentence: `${vanished(record)} and is restored.`,
    entry: record,
    intent: buildRestore(record, renewal, { why, generation: facts.generation }),
  };
}

function vanished(record: BindingStatus): string {
  return `${nameOf(record)} vanished at or after its expiry at ${record.expiryTime ?? ""}`;
}
