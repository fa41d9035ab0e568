import { Cause } from "../api/conditions";
import type { RestartStatus } from "../api/controller-resilience";
import type { Deferral, LimitReason, RestartClaim } from "../core/intent";
import { CLOCK_SKEW_MS, toSeconds } from "../core/time";
import type { PodView } from "../core/views";

// The record of restarts: whether the budget of a workload allows another one, and the outcomes of open ones. What else limits a workload
// stands in limits.ts; ledger.ts keeps the record, and the limits of the cluster.

// Budgets are computed from status alone, so a restarted operator or a new leader continues where the last one stopped.
// "Restart" means a restart within one workload. Each cause has its own budget, and the pods of one incident count as one restart
// as long as each replacement helped (docs/adr/0005-count-restarts-by-incident.md).

/** Minimum number of entries that status.restarts keeps. */
export const RESTARTS_KEPT = 10;

/** `maxRestarts` counts over this time, in milliseconds (docs/adr/0010-budget-restarts-per-workload.md). */
export const RESTARTS_WINDOW_MS = 3_600_000;

/** Maximum number of times that a cooldown doubles. */
const MAX_DOUBLINGS = 8;

/**
 * Returns what of a budget defers a restart now, and the rest of the time in milliseconds. Pure. A restart of another cause says nothing about whether
 * the claimed one helps: it counts only while its outcome is open. One of the same incident that helped does not delay the restart of another pod.
 */
export function checkRestartBudget(
  history: readonly RestartStatus[],
  claim: RestartClaim,
  now: Date,
): { readonly limit: "cooldown" | "maxRestarts"; readonly retryAfterMs: number } | undefined {
  const ofWorkload = history.filter(entry => entry.workload === claim.workload);
  const ofCause = ofWorkload.filter(entry => entry.cause === claim.cause);
  const siblings = ofCause.filter(entry => isSibling(entry, claim));
  const helped = siblings.filter(entry => hasHelped(entry, now));
  const relevant = ofWorkload.filter(
    entry => (ofCause.includes(entry) || isOpen(entry) || entry.podUID === claim.podUID) && !helped.includes(entry),
  );
  // With proof none waits for the outcome of another, while the last one with an outcome did not fail. How many may be down is another limit.
  const settled = ofCause.filter(entry => !isOpen(entry) && incidentOf(entry) === incidentOf(claim));
  const areTogether = PROVEN_BY_POD.has(claim.cause) && trailingIneffective(settled) === 0;
  const apart = relevant.filter(entry => !(areTogether && isOpen(entry) && siblings.includes(entry)));
  const sinceLast = age(Math.max(-Infinity, ...apart.map(timeMs)), now);
  const cooldownMs = claim.limits.cooldownMs * 2 ** Math.min(MAX_DOUBLINGS, trailingIneffective(ofCause));
  if (sinceLast < cooldownMs) return { limit: "cooldown", retryAfterMs: cooldownMs - sinceLast };

  // Open restarts of an incident in which another one has helped count as one with it.
  const counted = (helped.length > 0 ? apart : relevant).filter(entry => age(timeMs(entry), now) < RESTARTS_WINDOW_MS);
  const incidents = new Set(counted.map(entry => incidentKey(entry, now)));
  if (incidents.size < claim.limits.maxRestarts) return undefined;
  const oldest = Math.min(...counted.map(timeMs));
  return { limit: "maxRestarts", retryAfterMs: RESTARTS_WINDOW_MS - age(oldest, now) };
}

/** Time until a restart or a rollout that waits for another is tried again, in milliseconds. */
export const RECHECK_MS = 10_000;

/** A deferral by a limit that ends after this time. */
export function limited(limit: LimitReason, retryAfterMs: number, detail?: string): Deferral {
  return { result: "Limited", limit, retryAfterMs, ...(detail !== undefined && { detail }) };
}

/** Returns the incident that a restart belongs to: its cause and, if it was recreated, the ServiceAccount. */
export function incidentOf({
  cause,
  serviceAccountUID = "",
}: Pick<RestartStatus, "cause" | "serviceAccountUID">): string {
  return cause === Cause.ServiceAccountRecreated ? `${cause} ${serviceAccountUID}` : cause;
}

/** Reports whether a restart rests on logs, Events, Leases or metrics alone, without proof for the single pod. The breaker holds only for these. */
export function isUnproven(entry: Pick<RestartStatus, "cause">): boolean {
  return !PROVEN_BY_POD.has(entry.cause) && entry.cause !== Cause.TokenTooLong;
}

/**
 * Reports whether an entry is of the claim's incident, of another pod, and later than the creation of the claim's pod. A younger pod may be its
 * successor, so it waits: the restart did not help for long.
 */
function isSibling(entry: RestartStatus, claim: RestartClaim): boolean {
  const { podCreatedAtMs } = claim;
  const isKnown = podCreatedAtMs !== undefined && timeMs(entry) !== Infinity;
  const isOlder = isKnown && podCreatedAtMs <= Date.parse(entry.newestPodTime ?? "");
  return isOlder && incidentOf(entry) === incidentOf(claim) && entry.podUID !== claim.podUID;
}

/** Causes that are proven for each single pod. */
export const PROVEN_BY_POD: ReadonlySet<RestartStatus["cause"]> = new Set([
  Cause.ServiceAccountRecreated,
  Cause.SigningKeyRotated,
]);

function incidentKey(entry: RestartStatus, now: Date): string {
  return hasHelped(entry, now) ? `incident ${incidentOf(entry)}` : restartId(entry);
}

/** A later restart with the same key makes an entry superfluous. Unproven ones stay: each may still turn out to have helped only for a while. */
function replaceableKey(entry: RestartStatus, now: Date): string {
  return `${entry.workload} ${entry.serviceAccountUID === undefined ? restartId(entry) : incidentKey(entry, now)}`;
}

/** Where the cause is proven for the single pod, its replacement is sufficient. */
function hasHelped(entry: RestartStatus, now: Date): boolean {
  const ageMs = age(timeMs(entry), now);
  // Another leader's clock may have been ahead by hours.
  if (isDoubtful(entry) && ageMs < RESTARTS_WINDOW_MS && ageMs > -CLOCK_SKEW_MS) return false;
  return entry.outcome === "Recovered" || (entry.outcome === "Replaced" && !isUnproven(entry));
}

/**
 * Without a sign of success for this long, in milliseconds, an unproven restart did not help, such as one whose object was deleted, or whose
 * successor never gets Ready. A successor is watched no longer.
 */
export const UNPROVEN_OPEN_MS = 1_800_000;

/**
 * Reports whether an unproven restart may turn out to be in vain within an hour, although its successor seems to work: some programs fail minutes after
 * each start, and the pod had worked for less than half an hour.
 */
export function isDoubtful(entry: RestartStatus): boolean {
  const { workedSeconds = Infinity, outcome } = entry;
  const isYoung = workedSeconds * 1000 < UNPROVEN_OPEN_MS;
  return isYoung && (outcome === "Recovered" || outcome === "Replaced") && isUnproven(entry);
}

/** An unconfirmed replacement neither ends a series of failures nor continues it. */
export function trailingIneffective(entries: readonly RestartStatus[]): number {
  const byTime = oldestFirst(entries.filter(({ outcome }) => outcome !== "Replaced")).reverse();
  const firstOther = byTime.findIndex(entry => entry.outcome !== "Ineffective");
  return firstOther < 0 ? byTime.length : firstOther;
}

/** An unreadable time counts as the latest time, so that it never allows a restart. */
function timeMs(entry: RestartStatus): number {
  const ms = Date.parse(entry.time);
  return Number.isNaN(ms) ? Infinity : ms;
}

/** Sorts restarts by time. Those with an unreadable time come last. */
export function oldestFirst(entries: readonly RestartStatus[]): RestartStatus[] {
  return [...entries].sort((a, b) => (timeMs(a) === timeMs(b) ? 0 : timeMs(a) - timeMs(b)));
}

/** Negative for an entry from the future, which a clock that was ahead has stamped: the end of its cooldown is known as well. */
function age(timeMs: number, now: Date): number {
  return now.getTime() - timeMs;
}

/** Reports whether the outcome of a restart is still unknown. */
export function isOpen(entry: RestartStatus): boolean {
  return entry.outcome === "Requested" || entry.outcome === "Restarted";
}

/** The entry that is written to status *before* the restart is requested, so that no crash in between loses it. */
export function requestedRestart(claim: RestartClaim, now: Date): RestartStatus {
  return {
    pod: claim.pod,
    podUID: claim.podUID,
    workload: claim.workload,
    time: now.toISOString(),
    cause: claim.cause,
    outcome: "Requested",
    newestPodTime: toSeconds(new Date(claim.newestPodMs)),
    ...(claim.nodeName === undefined ? {} : { nodeName: claim.nodeName }),
    ...(claim.container === undefined ? {} : { container: claim.container }),
    ...(claim.serviceAccountUID === undefined ? {} : { serviceAccountUID: claim.serviceAccountUID }),
    ...(claim.workedMs === undefined ? {} : { workedSeconds: Math.max(0, Math.floor(claim.workedMs / 1000)) }),
  };
}

/**
 * Returns the entries that status keeps, oldest first: the last {@link RESTARTS_KEPT} that were executed, and older ones that are younger than
 * `countedMs` or still open, because dropping them would free their budget. Of the older entries of one proven incident only the newest is kept.
 * At most `limit` in total.
 */
export function pruneRestarts(
  history: readonly RestartStatus[],
  now: Date,
  countedMs = RESTARTS_COUNTED_MS,
  limit = 400,
): RestartStatus[] {
  const byTime = oldestFirst(history);
  const newest = new Map(byTime.map((entry, index) => [replaceableKey(entry, now), index]));
  const latest = new Set(byTime.filter(isConfirmed).slice(-RESTARTS_KEPT));
  const kept = byTime.filter((entry, index) => {
    if (latest.has(entry)) return true;
    if (newest.get(replaceableKey(entry, now)) !== index) return false;
    return isOpen(entry) || age(timeMs(entry), now) < countedMs;
  });
  return kept.slice(-limit);
}

/**
 * A request younger than this may have been executed, although its answer was lost: the known pods are up to 240 s old (the longest
 * silence of a watch), and another clock may have stamped them.
 */
const IN_FLIGHT_MS = 300_000;

/** The pods of a workload that have not ended. */
interface Pods {
  readonly pods: readonly { readonly view: PodView }[];
}

/** What a remedy observed about its restarts. */
export interface RestartEvidence<W extends Pods> {
  /** Those of its restarts. Another remedy settles the others. */
  readonly causes: readonly Cause[];
  /** By name, such as `Deployment/web`. Of others nothing shows whether a restart helped. */
  readonly workloads: ReadonlyMap<string, W>;
  /** Returns the outcome of an executed restart of a pod of this workload: Restarted while its effect is unknown. */
  readonly outcomeOf: (entry: RestartStatus, workload: W) => RestartStatus["outcome"];
  /** Pods against which there is evidence for a restart. */
  readonly accused?: readonly Accused[];
}

/** A pod that may be the successor of a restarted one, and shows the same trouble. */
export interface Accused {
  readonly workload: string;
  readonly podUID: string;
  readonly cause: RestartStatus["cause"];
  readonly createdAtMs: number;
  /** When the operator saw it take what it has lost since. */
  readonly tookMs?: number;
  /** Absent: any node. */
  readonly nodeName?: string | undefined;
}

/**
 * Settles the open restarts of a history; the other entries stay unchanged. A request whose answer was lost, or that a crash left behind,
 * counts as executed once its effect is visible. Without a visible effect it stays open while it may be in flight, then it is dropped:
 * it was never executed, so it costs no budget. An executed restart gets the outcome that the remedy observed. One that seemed to help did not
 * if its evidence is back within an hour. Pure: history in, history out.
 */
export function settleOpenRestarts<W extends Pods>(
  history: readonly RestartStatus[],
  { causes, workloads, outcomeOf, accused = [] }: RestartEvidence<W>,
  nowMs: number,
): RestartStatus[] {
  const settled = history.flatMap((entry): RestartStatus | RestartStatus[] => {
    if (!causes.some(cause => cause === entry.cause)) return entry;
    const workload = workloads.get(entry.workload);
    const confirmed = entry.outcome === "Requested" ? confirmRequest(entry, workload?.pods ?? [], nowMs) : entry;
    if (confirmed?.outcome !== "Restarted") return confirmed ?? [];
    if (workload !== undefined) return { ...confirmed, outcome: outcomeOf(confirmed, workload) };
    return isOverdue(entry, { view: {}, pods: [] }, nowMs) ? { ...confirmed, outcome: "Replaced" } : confirmed;
  });
  const relapsed = new Set(accused.map(pod => relapsedRestart(pod, settled, nowMs)));
  return settled.map(entry => (relapsed.has(entry) ? { ...entry, outcome: "Ineffective" } : entry));
}

/** The last restart before an accused pod: the pod is its successor, or it had the same chance. */
function relapsedRestart(pod: Accused, history: readonly RestartStatus[], nowMs: number): RestartStatus | undefined {
  const isBefore = (entry: RestartStatus): boolean =>
    entry.workload === pod.workload &&
    entry.cause === pod.cause &&
    (isCreatedAfter(pod.createdAtMs, entry) || isSeenAfter(pod.tookMs ?? -Infinity, entry));
  const last = history.findLast(
    entry =>
      isBefore(entry) &&
      entry.podUID !== pod.podUID &&
      (pod.nodeName === undefined || (entry.nodeName ?? pod.nodeName) === pod.nodeName),
  );
  return last !== undefined && mayRelapse(last, nowMs) ? last : undefined;
}

/** Reports whether a restart that seemed to help becomes `Ineffective` if its evidence comes back now. */
export function mayRelapse({ outcome, time }: RestartStatus, nowMs: number): boolean {
  return (outcome === "Recovered" || outcome === "Replaced") && nowMs - Date.parse(time) <= RESTARTS_WINDOW_MS;
}

/** Without a visible effect for this long, in milliseconds, an executed restart did not help, so that it does not delay others forever. */
export const UNKNOWN_MS = 600_000;

/**
 * Reports whether that time has passed since the end of the pod's grace period. An unreadable time counts as long ago. A restart whose successor
 * was never created, while the workload lacks a pod, has not been tried.
 */
export function isOverdue(
  entry: RestartStatus,
  { view: { graceMs = 0, replicas = 0 }, pods }: Pods & { readonly view: { graceMs?: number; replicas?: number } },
  nowMs: number,
): boolean {
  const isTried = isWhole(entry, { view: { replicas }, pods }) || pods.some(pod => mayReplace(pod, entry));
  const { deletedAtMs = 0 } = pods.find(({ view }) => view.uid === entry.podUID)?.view ?? {};
  return isTried && !(nowMs - Math.max(Date.parse(entry.time) + graceMs, deletedAtMs) < UNKNOWN_MS);
}

/** Reports whether a workload lacks no pod that could be the successor: a pod of a DaemonSet that cannot end lacks on its own node only. */
export function isWhole(
  { nodeName }: RestartStatus,
  { view: { replicas }, pods }: Pods & { readonly view: { replicas: number } },
): boolean {
  const isElsewhere = ({ view }: Pods["pods"][number]): boolean => nodeName !== undefined && view.nodeName !== nodeName;
  return pods.filter(pod => isPresent(pod) || isElsewhere(pod)).length >= replicas;
}

/** Reports whether a pod may be the successor of a restarted one. */
export function mayReplace(pod: Pods["pods"][number], entry: RestartStatus): boolean {
  const { view } = pod;
  const isLater = view.uid !== entry.podUID && isCreatedAfter(view.createdAtMs, entry);
  return isLater && isPresent(pod) && isInPlaceOf(view, entry);
}

/** Reports whether a pod has the place of a restarted one: in a StatefulSet its name, in a DaemonSet its node, or none yet, else any. */
export function isInPlaceOf({ name, nodeName }: PodView, { workload, pod, nodeName: node }: RestartStatus): boolean {
  if (workload.startsWith("StatefulSet/")) return name === pod;
  return node === undefined || (nodeName ?? node) === node;
}

/** Reports whether a pod is not being deleted. */
export function isPresent({ view }: { readonly view: PodView }): boolean {
  return view.deletedAtMs === undefined;
}

/** Counts the pods that are not being deleted, as status and messages do. */
export function countPresent(pods: Pods["pods"]): number {
  return pods.filter(isPresent).length;
}

/** Reports whether the restarted pod is still there, and not being deleted. */
export function isPodPresent({ podUID }: RestartStatus, pods: Pods["pods"]): boolean {
  return pods.some(pod => pod.view.uid === podUID && isPresent(pod));
}

/** Returns undefined for a request that was never executed: its pod is still there. An unreadable time counts as long ago. */
function confirmRequest(entry: RestartStatus, pods: Pods["pods"], nowMs: number): RestartStatus | undefined {
  if (!isPodPresent(entry, pods)) return { ...entry, outcome: "Restarted" };
  return nowMs - Date.parse(entry.time) < IN_FLIGHT_MS ? entry : undefined;
}

/**
 * Reports whether a pod was created after a restart: later than every pod that its workload had then. The API server stamps them all, so it
 * does not matter whether the operator's clock is right.
 */
export function isCreatedAfter(createdAtMs: number, { newestPodTime = "" }: RestartStatus): boolean {
  return createdAtMs > Date.parse(newestPodTime);
}

/** Reports whether the operator saw something after a restart. Times of status have whole seconds; another leader may have written this one. */
export function isSeenAfter(ms: number, { time }: RestartStatus): boolean {
  return ms >= Math.floor(Date.parse(time) / 1000) * 1000 - CLOCK_SKEW_MS;
}

/** A week. Younger restarts may still count: those that did not help, for as long as the doubled cooldowns. */
const RESTARTS_COUNTED_MS = 168 * 3_600_000;

/** Restarts, of which those of one remedy have their current outcomes, and the causes of that remedy. */
export interface SettledRestarts {
  readonly causes: readonly string[];
  readonly restarts: readonly RestartStatus[];
}

/** Replaces the restarts of each settled cause in status.restarts. Restarts with other causes stay unchanged. Oldest first. */
export function joinRestarts(before: readonly RestartStatus[], settled: readonly SettledRestarts[]): RestartStatus[] {
  const others = before.filter(({ cause }) => !settled.some(({ causes }) => causes.includes(cause)));
  const own = settled.flatMap(({ causes, restarts }) => restarts.filter(({ cause }) => causes.includes(cause)));
  return oldestFirst([...others, ...own]);
}

/** Returns the restarts of one workload, such as `Deployment/app`. */
export function restartsOf(workload: string, history: readonly RestartStatus[]): RestartStatus[] {
  return history.filter(entry => entry.workload === workload);
}

/** Counts restarts that are confirmed in `after` and not in `before`: new ones, and requests that a crash had left open. */
export function countConfirmed(before: readonly RestartStatus[], after: readonly RestartStatus[]): number {
  const known = new Set(before.filter(isConfirmed).map(restartId));
  return after.filter(entry => isConfirmed(entry) && !known.has(restartId(entry))).length;
}

function isConfirmed(entry: RestartStatus): boolean {
  return entry.outcome !== "Requested";
}

/** Identifies a restart across histories. */
export function restartId(entry: RestartStatus): string {
  return `${entry.podUID} ${entry.time}`;
}
