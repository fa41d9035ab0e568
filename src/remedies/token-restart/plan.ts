import type { RestartStatus, TargetStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { PendingWrite, Plan, PlanItem } from "../../core/remedy";
import { isOpen } from "../../restarts/history";
import { SUSPICIOUS_INTERVAL_MS } from "../../core/readers";
import { observationIncomplete, targetNotFound, type Finding } from "../kit/finding";
import { stateOf, type WorkloadState } from "./candidates";
import { assess } from "./checks";
import { type Observed } from "./observed";
import { newlySettled } from "../../restarts/claims";
import { waitOf, withPatience } from "../../restarts/limits";
import { KEYS_RECHECK_MS } from "./proof";
import { stalled, type Assessment, type Reason } from "./reasons";
import { settleRestarts } from "./settle";
import { targetStatus } from "./target-status";

/** Minimum time between two passes. */
const MIN_RECHECK_MS = 1_000;

/** The plan for the workloads of the targets. */
export interface TokenRestartPlan extends Plan<WorkloadItem> {
  readonly restarts: readonly RestartStatus[];
  /** Restarts that this plan has found to be Recovered or Ineffective. */
  readonly settled: readonly RestartStatus[];
  /** Findings about anything but the workloads. */
  readonly findings: readonly Finding<Reason>[];
  /** Absent: with the next full pass. A log with news requests a pass by itself. */
  readonly recheckAfterMs?: number;
}

/** One workload. */
export interface WorkloadItem extends PlanItem {
  readonly assessment: Assessment;
  readonly target: TargetStatus;
}

/** Plans the restarts, at most one per workload. Pure and total. */
export function planRestarts(
  observed: Observed,
  spec: TokenRestartSpec,
  now: Date,
  pending: readonly PendingWrite[],
): TokenRestartPlan {
  const restarts = settleRestarts(observed.restarts, observed.workloads, now.getTime());
  const states = observed.workloads.map(workload => stateOf(workload, { observed, restarts, spec, now, pending }));
  const items = states.map(state => itemOf(state));
  return {
    items,
    restarts,
    settled: newlySettled(observed.restarts, restarts),
    findings: otherFindings(observed),
    ...recheckOf(items, states),
  };
}

function itemOf(state: WorkloadState): WorkloadItem {
  const assessed = assess(state);
  const wait = waitOf(assessed, state.previous?.waitStartTime, state);
  const assessment = withPatience(assessed, assessed.wayOut, wait, state.now);
  const { uid: id } = state.workload.view;
  const { intents = [] } = assessment;
  return { id, intents, assessment, target: targetStatus(state, wait) };
}

/** Findings about nodes, missing targets and failed reads. */
function otherFindings(observed: Observed): Finding<Reason>[] {
  const { doubtfulNodes, missingTargets, problems } = observed;
  return [...doubtfulNodes.map(stalled), ...missingTargets.map(targetNotFound), ...problems.map(observationIncomplete)];
}

function recheckOf(
  items: readonly WorkloadItem[],
  states: readonly WorkloadState[],
): Pick<TokenRestartPlan, "recheckAfterMs"> {
  const hasOpenRestart = states.some(({ history }) => history.some(entry => isOpen(entry)));
  const hasPods = states.some(({ workload }) => workload.pods.length > 0);
  const isNew = states.some(({ workload }) => workload.pods.some(pod => pod.isNew === true));
  const isClose = hasOpenRestart || isNew || items.some(({ assessment }) => !CALM.has(assessment.reason));
  const waits = items.flatMap(({ assessment }) => assessment.retryAfterMs ?? []);
  const calmMs = hasPods ? KEYS_RECHECK_MS : Infinity;
  const soonestMs = Math.min(isClose ? SUSPICIOUS_INTERVAL_MS : calmMs, ...waits);
  return soonestMs === Infinity ? {} : { recheckAfterMs: Math.max(MIN_RECHECK_MS, soonestMs) };
}

/** Reasons of workloads that need no close look. */
const CALM: ReadonlySet<Reason> = new Set(["Accepted", "Conflict", "NothingToDo", "RestartsExhausted"]);
