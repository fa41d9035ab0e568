import { STALL_CAUSES } from "../../api/conditions";
import type { RestartStatus, StallDetectionSpec, StallStatus } from "../../api/controller-resilience";
import type { Outcomes, PendingWrite, Plan, PlanItem, Report } from "../../core/remedy";
import { parseDuration } from "../../core/time";
import { eventOf, newlySettled, type PlannedRestart, withAnswer, workloadId } from "../../restarts/claims";
import { isOpen, restartsOf } from "../../restarts/history";
import { describeDown, UNHEALTHY_HINT, withPatience } from "../../restarts/limits";
import { observationIncomplete, summarizeWorkloads, targetNotFound } from "../kit/finding";
import { type HeldLease, judgeLease, otherRenewed, standingLeases, untilStaleMs } from "./lease-judge";
import { leaseId } from "./leases";
import { stuckWorkerFindings } from "./metrics";
import { type Observed, type Scope } from "./observed";
import { dueWork, settleRestarts } from "./outcome";
import { notesOnKinds } from "./progress";
import { type Finding, type Reason, REASONS } from "./reasons";
import { decideRestart, type PodDecision } from "./restart";
import { oldDenials, stallsOf } from "./stalls";

/** Time between two passes while something is stalled or restarted. */
const CLOSE_MS = 10_000;

/** Minimum time between two passes. */
const MIN_RECHECK_MS = 1_000;

/** What the remedy plans and reports. */
export interface StallPlan extends Plan<StallItem> {
  readonly restarts: readonly RestartStatus[];
  /** Restarts that this plan has found to be Recovered or Ineffective. */
  readonly settled: readonly RestartStatus[];
  /** Entries of status about Leases that can't be read now: they are what a later reading is compared with. */
  readonly kept: readonly StallStatus[];
  /** Findings about anything but the workloads. */
  readonly findings: readonly Finding[];
  /** Absent: with the next full pass. */
  readonly recheckAfterMs?: number;
}

/** One workload. */
export interface StallItem extends PlanItem {
  readonly pods: number;
  readonly findings: readonly (Finding & { readonly restart?: PlannedRestart })[];
  readonly entries: readonly StallStatus[];
}

/** Plans at most one restart per workload. Pure and total. */
export function planStalls(
  observed: Observed,
  spec: StallDetectionSpec,
  now: Date,
  pending: readonly PendingWrite[],
): StallPlan {
  const forMs = parseDuration(spec.for);
  const scopes = observed.workloads.map((workload): Scope => ({ observed, spec, workload, now, pending, forMs }));
  const restarts = settleRestarts(observed.restarts, scopes, now.getTime());
  const items = scopes.map(scope => itemOf(scope, restarts));
  const settled = newlySettled(observed.restarts, restarts);
  const findings = otherFindings(observed);
  const kept = keptEntries(observed, items, restarts);
  return { items, restarts, settled, kept, findings, ...recheckOf(scopes, items, restarts) };
}

/** What can't be read now, and the work for which a pod was restarted. An entry of evidence that this version does not know is left out. */
function keptEntries(
  { previous, unread }: Observed,
  items: readonly StallItem[],
  restarts: readonly RestartStatus[],
): StallStatus[] {
  const isUnread = ({ lease, object = lease ?? "" }: StallStatus): boolean =>
    unread.some(prefix => object.startsWith(prefix));
  const found = items.flatMap(({ entries }) => entries);
  const awaitedWork = restarts.filter(isOpen).flatMap(entry => dueWork(entry, previous));
  return previous.filter(entry => {
    if (entry.evidence === "Lease") return isUnread(entry);
    const isFound = found.some(({ workload, object }) => workload === entry.workload && object === entry.object);
    return entry.evidence === "Progress" && !isFound && (isUnread(entry) || awaitedWork.includes(entry));
  });
}

function itemOf(scope: Scope, restarts: readonly RestartStatus[]): StallItem {
  const { view, pods } = scope.workload;
  const stalls = stallsOf(scope);
  const decision = decideRestart(scope, restarts);
  const index = stalls.findIndex(
    ({ entry }) => entry.podUID === decision?.podUID && (entry.evidence === "Lease" || entry.evidence === "Metrics"),
  );
  const findings = stalls.map(({ finding }, i) =>
    i === index && decision ? withDecision(finding, decision, scope) : finding,
  );
  return {
    id: view.uid,
    pods: pods.length,
    intents: decision?.intents ?? [],
    entries: stalls.map(({ entry }, i) => (i === index ? { ...entry, ...decision?.wait } : entry)),
    findings: [
      ...(findings.length > 0 ? findings : [awaited(scope, restarts) ?? calm(scope)]),
      ...stuckWorkerFindings(scope),
    ],
  };
}

/** A stall with what is done about it. */
function withDecision(
  stall: Finding,
  { finding, wayOut, wait }: PodDecision,
  { now }: Scope,
): StallItem["findings"][number] {
  const { sentence = "", ...decided } = finding;
  const said = sentence === "" ? stall.sentence : `${stall.sentence} ${sentence}`;
  return withPatience({ ...stall, isStalled: false, ...decided, sentence: said }, wayOut, wait, now);
}

/** A restart whose outcome is open: nothing shows yet that it helped. Its successor may never be created. */
function awaited({ workload: { view, pods }, now }: Scope, restarts: readonly RestartStatus[]): Finding | undefined {
  const id = workloadId(view);
  const history = restartsOf(id, restarts);
  const watched = describeDown({ pods, history, now }, STALL_CAUSES);
  if (watched === undefined) return undefined;
  const finding = {
    status: "False",
    reason: "Restarting",
    sentence: `${id}: ${watched}.`,
    isProgressing: true,
  } as const;
  return withPatience(finding, UNHEALTHY_HINT, { waitStartTime: history.at(-1)?.time ?? "" }, now);
}

/** No evidence of a stall, and what the operator cannot tell. */
function calm(scope: Scope): Finding {
  const { view, pods } = scope.workload;
  const id = workloadId(view);
  if (pods.length === 0) return { status: "True", reason: "NothingToDo", sentence: `${id} has no pods.` };
  if (pods.some(({ logs }) => logs.some(({ isUnread }) => isUnread))) return logsUnread(id);
  const notes = [...unsureLeases(scope), ...otherLeases(scope), ...notesOnDenials(scope), ...notesOnKinds(scope)];
  if (notes.length === 0) return { status: "True", reason: "Active", sentence: `${id} shows no sign of a stall.` };
  return { status: "True", reason: "Active", sentence: notes.join(" "), isNotable: true };
}

/** Without a number: each log that is read would be a write of status. */
function logsUnread(id: string): Finding {
  return { status: "Unknown", reason: "ObserveFailed", sentence: `${id}: logs not read yet.`, isProgressing: true };
}

function unsureLeases({ workload, forMs }: Scope): string[] {
  return workload.pods.flatMap(({ leases }) =>
    leases.flatMap(lease => {
      const [id, { name }] = [leaseId(lease.track), lease.pod];
      const verdict = judgeLease(lease, forMs);
      if (verdict === "unconfirmed")
        return `Lease ${id} is no longer renewed since pod ${name} restarted a container; nothing shows that it still should be.`;
      if (verdict !== "unseen" || otherRenewed(leases, forMs) !== undefined) return [];
      return `Pod ${name} holds Lease ${id}, and has not renewed it since the operator leads; it may have finished with it, or hang since before: see its log, and delete the pod if it hangs.`;
    }),
  );
}

/** Stale Leases of a pod that renews another one: the first, since their number would change with each task of a program. */
function otherLeases({ workload, forMs }: Scope): string[] {
  const notes = workload.pods.flatMap(({ view, leases }) => {
    const renewed = otherRenewed(leases, forMs);
    const [first] = standingLeases(leases, forMs);
    if (renewed === undefined || first === undefined) return [];
    return [
      `Pod ${view.name} no longer renews Lease ${leaseId(first.track)} but renews ${leaseId(renewed.track)}: it may have finished with the first. The operator leaves it, and pods like it, alone.`,
    ];
  });
  return notes.slice(0, 1);
}

function notesOnDenials(scope: Scope): string[] {
  const [first, ...rest] = oldDenials(scope);
  if (first === undefined) return [];
  const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
  return [
    `${workloadId(scope.workload.view)} may not ${first}${more}, as long as its log goes back; this may be normal.`,
  ];
}

function otherFindings({ missingTargets, problems }: Observed): Finding[] {
  return [...missingTargets.map(targetNotFound), ...problems.map(observationIncomplete)];
}

function recheckOf(
  scopes: readonly Scope[],
  items: readonly StallItem[],
  restarts: readonly RestartStatus[],
): Pick<StallPlan, "recheckAfterMs"> {
  const isClose = restarts.some(isOpen) || items.some(({ entries }) => entries.length > 0);
  const waits = scopes.flatMap(waitsOf);
  const soonestMs = Math.min(isClose ? CLOSE_MS : Infinity, ...waits);
  return soonestMs === Infinity ? {} : { recheckAfterMs: Math.max(MIN_RECHECK_MS, soonestMs) };
}

/** A pass follows as soon as a Lease may be stale, which a renewal puts off. */
function waitsOf({ workload, forMs }: Scope): number[] {
  const held = workload.pods.flatMap(({ leases }): readonly HeldLease[] => leases);
  const renewed = held.filter(lease => judgeLease(lease, forMs) === "renewed");
  return renewed.map(lease => untilStaleMs(lease, forMs) + MIN_RECHECK_MS);
}

// The report.

const NONE: Finding = { status: "True", reason: "NothingToDo", sentence: "No workloads to watch." };

/** Reports on a plan and its outcomes. Pure. */
export function reportStalls(plan: StallPlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const workloads = plan.items.map(({ id, pods, findings }) => {
    return { pods, findings: findings.map(finding => withAnswer(finding, outcomes.get(id)?.[0], now)) };
  });
  const words = { none: NONE, calm: "none shows a sign of a stall.", list: "status.stalls" };
  return {
    ...summarizeWorkloads<Reason>(REASONS, workloads, plan.findings, words),
    ...(plan.recheckAfterMs !== undefined && { recheckAfterMs: plan.recheckAfterMs }),
    lists: { stalls: [...plan.items.flatMap(({ entries }) => entries), ...plan.kept] },
    events: plan.settled.map(eventOf),
  };
}
