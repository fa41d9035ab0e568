import { Cause, STALL_CAUSES } from "../../api/conditions";
import type { RestartStatus, StallDetectionSpec, StallStatus } from "../../api/controller-resilience";
import type { LeaseTrack } from "../../core/leases";
import type { PendingRestart } from "../../core/remedy";
import { workloadId } from "../../core/text";
import { isOpen, restartsOf } from "../../restarts/history";
import { EXHAUSTED_MS } from "../../restarts/limits";
import { held, itemOf, MIN_RECHECK_MS, reporter, restartPlan, type RestartPlan, watched } from "../kit/restarting";
import { Holders, untilStaleMs } from "./lease-judge";
import { signsOfLeases } from "./leases";
import { signsOfLogs } from "./logs";
import type { Observed, ObservedPod, Scope } from "./observed";
import { type Finding, note, type Reason, REASONS, type Sign } from "./reasons";
import { dueWork, settleRestarts, withDecision } from "./restart";
import { signsOfKinds, signsOfMetrics } from "./work";

/** Time between two passes while something is stalled or restarted. */
const CLOSE_MS = 10_000;

/** What shows something of a workload, and what it shows. */
const EVIDENCE: readonly ((scope: Scope) => Sign[])[] = [signsOfLeases, signsOfLogs, signsOfKinds, signsOfMetrics];

/** Plans at most one restart per workload. Pure and total. */
export function planStalls(
  observed: Observed,
  spec: StallDetectionSpec,
  now: Date,
  pending: readonly PendingRestart[],
): RestartPlan<Reason> {
  const scopes = observed.workloads.map((workload): Scope => {
    return { ...workload, id: workloadId(workload.view), observed, spec, now, pending };
  });
  const restarts = settleRestarts(observed.restarts, scopes, now.getTime());
  const judged = scopes.map(scope => judge(scope, restartsOf(scope.id, restarts)));
  const found = judged.flatMap(({ entries }) => entries);
  const isClose = restarts.some(isOpen) || found.length > 0;
  return restartPlan<Reason>(observed, {
    restarts,
    items: judged.map(({ item }) => item),
    lists: { stalls: [...found, ...keptEntries(observed, found, restarts)] },
    soonestMs: Math.min(isClose ? CLOSE_MS : Infinity, ...scopes.flatMap(waitsOf)),
  });
}

/** Reports on a plan and its outcomes. Pure. */
export const reportStalls = reporter<Reason>(REASONS, {
  none: { status: "True", reason: "NothingToDo", sentence: "No workloads to watch." },
  calm: "none shows a sign of a stall.",
  list: "status.stalls",
});

/** What can't be read now, and the work for which a pod was restarted. An entry of evidence that this version does not know is left out. */
function keptEntries(
  { previous, unread }: Observed,
  found: readonly StallStatus[],
  restarts: readonly RestartStatus[],
): StallStatus[] {
  const isUnread = ({ lease, object = lease ?? "" }: StallStatus): boolean =>
    unread.some(prefix => object.startsWith(prefix));
  const awaitedWork = restarts.filter(isOpen).flatMap(entry => dueWork(entry, previous));
  return previous.filter(entry => {
    if (entry.evidence === "Lease") return isUnread(entry);
    const isFound = found.some(({ workload, object }) => workload === entry.workload && object === entry.object);
    return entry.evidence === "Progress" && !isFound && (isUnread(entry) || awaitedWork.includes(entry));
  });
}

/** One workload: what is said and done, and the entries of status. */
function judge(scope: Scope, history: readonly RestartStatus[]) {
  const signs = EVIDENCE.flatMap(signsOf => signsOf(scope));
  const accusing = signs.filter(({ entry }) => entry !== undefined);
  const stalls = withDecision(accusing, scope, history);
  const notes = signs.filter(({ reason }) => reason === "Active");
  const warnings = signs.filter(({ reason }) => reason === "WorkerStuck");
  const rest = (): Finding =>
    watched(scope, { history, causes: STALL_CAUSES, now: scope.now }) ?? inVain(scope, history) ?? calm(scope, notes);
  const item = itemOf<Reason>(scope, [...(stalls.length > 0 ? stalls : [rest()]), ...warnings]);
  return { item, entries: stalls.flatMap(({ entry }) => entry ?? []) };
}

/** A restart that did not help is told for a day, while the Lease is as the pod left it: once another workload took it, standbys are healthy. */
function inVain({ pods, observed, now }: Scope, history: readonly RestartStatus[]) {
  const last = history.findLast(({ cause }) => cause === Cause.LeaseNotRenewed);
  if (last?.outcome !== "Ineffective" || now.getTime() - Date.parse(last.time) > EXHAUSTED_MS) return undefined;
  const holders = new Holders(
    [],
    pods.slice(0, 1).map(({ view }) => ({ ...view, name: last.pod })),
  );
  const isLeft = (track: LeaseTrack): boolean =>
    holders.of(track, false) !== undefined && Date.parse(track.renewed ?? "") < Date.parse(last.time);
  const isIdle = ({ leases }: ObservedPod): boolean => leases.every(({ track }) => isLeft(track));
  if (pods.length === 0 || !pods.every(isIdle) || !observed.leases.some(isLeft)) return undefined;
  const sentence = `Restarting pod ${last.pod} of ${last.workload} did not help: no pod of it has taken its Lease since; see why in their logs.`;
  return held("LeaseNotRenewed", sentence);
}

/** No evidence of a stall, and what the operator cannot tell. */
function calm({ id, pods }: Scope, notes: readonly Sign[]): Finding {
  if (pods.length === 0) return { status: "True", reason: "NothingToDo", sentence: `${id} has no pods.` };
  if (pods.some(({ logs }) => logs.isUnread)) {
    // Without a number: each log that is read would be a write of status.
    return { status: "Unknown", reason: "ObserveFailed", sentence: `${id}: logs not read yet.`, isProgressing: true };
  }
  if (notes.length === 0) return { status: "True", reason: "Active", sentence: `${id} shows no sign of a stall.` };
  return note(notes.map(({ sentence }) => sentence).join(" "));
}

/** A pass follows as soon as a Lease may be stale, which a renewal puts off. */
function waitsOf({ pods }: Scope): number[] {
  const awaited = pods
    .flatMap(({ leases }) => leases)
    .filter(({ verdict }) => verdict === "renewed" || verdict === "unconfirmed");
  return awaited.map(untilStaleMs).flatMap(ms => (ms > 0 ? ms + MIN_RECHECK_MS : []));
}
