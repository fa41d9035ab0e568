import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import type { LimitReason, RestartClaim } from "../intent";

// Budgets are computed from status alone, so a restarted or newly leading operator continues where the last one was.
// "Restart" below means one of a workload; pods of one proven incident, replaced one after the other, are one restart
// as long as each replacement helped (docs/adr/0005-count-restarts-by-incident.md). Planned replacements of pods that are well
// (TokenTooLong) stand in nobody's way once they have helped, and say nothing of whether restarts help the sick.

/** How many entries status.restarts keeps at least. */
export const RESTARTS_KEPT = 10;

/** Cooldowns double no further than this many times. */
const MAX_DOUBLINGS = 8;

/** The answer of the budget. */
export type BudgetVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly limit: LimitReason; readonly retryAfterMs: number };

/** Whether the history allows this restart now. Pure; `now` in the past of an entry counts the entry as just made. */
export function checkRestartBudget(history: readonly RestartStatus[], claim: RestartClaim, now: Date): BudgetVerdict {
  const ofWorkload = history.filter(entry => entry.workload === claim.workload);
  const inTheWay = ofWorkload.filter(entry => !isSameIncident(entry, claim) && !isDonePlan(entry));
  const ofItsKind = ofWorkload.filter(entry => isPlanned(entry) === isPlanned(claim));
  const sinceLast = age(lastTime(inTheWay), now);
  const cooldownMs = claim.limits.cooldownMs * 2 ** Math.min(MAX_DOUBLINGS, trailingIneffective(ofItsKind));
  if (sinceLast < cooldownMs) return { allowed: false, limit: "Cooldown", retryAfterMs: cooldownMs - sinceLast };

  const counted = inTheWay.filter(entry => age(timeMs(entry), now) < claim.limits.maxRestartsWindowMs);
  const incidents = new Set(counted.map(entry => incidentKey(entry)));
  if (incidents.size < claim.limits.maxRestarts) return { allowed: true };
  const oldest = Math.min(...counted.map(timeMs));
  return { allowed: false, limit: "MaxRestarts", retryAfterMs: claim.limits.maxRestartsWindowMs - age(oldest, now) };
}

/** A sibling of the same proven incident whose replacement helped does not stand in this restart's way. */
function isSameIncident(entry: RestartStatus, claim: RestartClaim): boolean {
  return isOfIncident(entry, claim) && entry.outcome === "Recovered" && entry.podUID !== claim.podUID;
}

function isOfIncident(entry: RestartStatus, claim: RestartClaim): boolean {
  return (
    claim.cause === Cause.ServiceAccountRecreated &&
    claim.serviceAccountUID !== undefined &&
    entry.serviceAccountUID === claim.serviceAccountUID
  );
}

/**
 * Whether the claim's own incident still waits for the outcome of this restart. It uses up the budget for as long as nothing is
 * known of it, but nobody can say yet that it was in vain.
 */
export function isAwaited(entry: RestartStatus, claim: RestartClaim): boolean {
  return isOpen(entry) && (entry.podUID === claim.podUID || isOfIncident(entry, claim));
}

function isPlanned({ cause }: Pick<RestartStatus, "cause">): boolean {
  return cause === Cause.TokenTooLong;
}

function isDonePlan(entry: RestartStatus): boolean {
  return isPlanned(entry) && entry.outcome === "Recovered";
}

function incidentKey(entry: RestartStatus): string {
  if (isDonePlan(entry)) return "plan";
  const proven = entry.outcome === "Recovered" && entry.serviceAccountUID !== undefined;
  return proven ? `incident ${entry.serviceAccountUID}` : `pod ${entry.podUID ?? entry.pod} ${entry.time}`;
}

function trailingIneffective(entries: readonly RestartStatus[]): number {
  const byTime = sortedByTime(entries).reverse();
  const firstOther = byTime.findIndex(entry => entry.outcome !== "Ineffective");
  return firstOther < 0 ? byTime.length : firstOther;
}

function lastTime(entries: readonly RestartStatus[]): number {
  return Math.max(-Infinity, ...entries.map(timeMs));
}

/** A time that can't be read counts as the latest there is: what is not understood must not hand out a restart. */
function timeMs(entry: RestartStatus): number {
  const ms = Date.parse(entry.time);
  return Number.isNaN(ms) ? Infinity : ms;
}

function sortedByTime(entries: readonly RestartStatus[]): RestartStatus[] {
  return [...entries].sort((a, b) => (timeMs(a) === timeMs(b) ? 0 : timeMs(a) - timeMs(b)));
}

/** Never negative: an entry from the future (a clock that was ahead) is as young as can be. */
function age(timeMs: number, now: Date): number {
  return Math.max(0, now.getTime() - timeMs);
}

/** Whether the restart has no outcome yet. */
export function isOpen(entry: RestartStatus): boolean {
  return entry.outcome === "Requested" || entry.outcome === "Restarted";
}

/** The entry that is written into status *before* the restart is asked for, so that no crash in between loses it. */
export function requestedRestart(claim: RestartClaim, now: Date): RestartStatus {
  return {
    pod: claim.pod,
    podUID: claim.podUID,
    workload: claim.workload,
    time: now.toISOString(),
    cause: claim.cause,
    outcome: "Requested",
    ...(claim.serviceAccountUID === undefined ? {} : { serviceAccountUID: claim.serviceAccountUID }),
  };
}

/** Sets the outcome of the newest entry of that pod; a history without it is returned as it is. */
export function withOutcome(
  history: readonly RestartStatus[],
  podUID: string,
  outcome: RestartStatus["outcome"],
): RestartStatus[] {
  const index = history.findLastIndex(entry => entry.podUID === podUID);
  return history.map((entry, i) => (i === index ? { ...entry, outcome } : entry));
}

/** Takes back the newest request for that pod, which was not carried out (refused, blocked, conflicting), so that it costs no budget. */
export function withoutRequest(history: readonly RestartStatus[], podUID: string): RestartStatus[] {
  const index = history.findLastIndex(entry => entry.podUID === podUID && entry.outcome === "Requested");
  return history.filter((_entry, i) => i !== index);
}

/**
 * What status keeps, oldest first: the last {@link RESTARTS_KEPT}, and before them whatever is younger than `countedMs` or
 * still open, since dropping such an entry would hand out its budget again. Of one proven incident only the newest is
 * kept beyond that. At most `limit` in all.
 */
export function pruneRestarts(
  history: readonly RestartStatus[],
  now: Date,
  countedMs: number,
  limit = 400,
): RestartStatus[] {
  const byTime = sortedByTime(history);
  const newest = new Map(byTime.map((entry, index) => [`${entry.workload} ${incidentKey(entry)}`, index]));
  const kept = byTime.filter((entry, index) => {
    if (index >= byTime.length - RESTARTS_KEPT) return true;
    if (newest.get(`${entry.workload} ${incidentKey(entry)}`) !== index) return false;
    return isOpen(entry) || age(timeMs(entry), now) < countedMs;
  });
  return kept.slice(-limit);
}
