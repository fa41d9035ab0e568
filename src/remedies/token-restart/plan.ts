import type { TokenRestartSpec } from "../../api/controller-resilience";
import type { GaugeSample, StatusOwner } from "../../core/metrics";
import type { PendingRestart, StatusGauge } from "../../core/remedy";
import { splitKey } from "../../core/text";
import { isOpen, restartsOf, trailingIneffective } from "../../restarts/history";
import { SUSPICIOUS_INTERVAL_MS } from "../../core/readers";
import { itemOf, reporter, restartPlan, type RestartPlan } from "../kit/restarting";
import { stateOf, type WorkloadState } from "./candidates";
import { assess } from "./checks";
import { type Observed, TOKEN_CAUSES } from "./observed";
import { waitOf, withPatience } from "../../restarts/limits";
import { KEYS_RECHECK_MS } from "./proof";
import { type Assessment, type Reason, REASONS, stalled } from "./reasons";
import { settleRestarts } from "./settle";
import { targetStatus } from "./target-status";

/** Plans the restarts, at most one per workload. Pure and total. */
export function planRestarts(
  observed: Observed,
  spec: TokenRestartSpec,
  now: Date,
  pending: readonly PendingRestart[],
): RestartPlan<Reason> {
  const restarts = settleRestarts(observed.restarts, observed.workloads, now.getTime());
  const context = { observed, spec, now, pending };
  const judged = observed.workloads.map(workload => judge(stateOf(workload, restarts, context)));
  return restartPlan<Reason>(observed, {
    ...{ restarts, others: observed.doubtfulNodes.map(stalled) },
    items: judged.map(({ item }) => item),
    lists: { targets: judged.map(({ target }) => target) },
    soonestMs: Math.min(...judged.map(one => one.soonestMs)),
  });
}

/** One workload. */
function judge(state: WorkloadState) {
  const assessed = assess(state);
  const wait = waitOf(assessed, state.workload.previous?.waitStartTime, state);
  const assessment = withPatience(assessed, assessed.wayOut, wait, state.now);
  const item = itemOf<Reason>(state.workload, [assessment]);
  return { item, target: targetStatus(state, wait), soonestMs: soonestMs(state, assessment) };
}

/** Time until the next pass. */
function soonestMs(
  { history, workload: { pods } }: WorkloadState,
  { reason, retryAfterMs = Infinity }: Assessment,
): number {
  const isClose = history.some(isOpen) || pods.some(pod => pod.isNew === true) || !CALM.has(reason);
  const calmMs = pods.length > 0 ? KEYS_RECHECK_MS : Infinity;
  return Math.min(isClose ? SUSPICIOUS_INTERVAL_MS : calmMs, retryAfterMs);
}

/** Reasons of workloads that need no close look. */
const CALM: ReadonlySet<Reason> = new Set(["Accepted", "Conflict", "NothingToDo", "RestartsExhausted"]);

/** Reports on a plan and its outcomes. Pure. */
export const reportTokens = reporter<Reason>(REASONS, {
  none: { status: "True", reason: "Accepted", sentence: "No workloads to watch." },
  calm: "no pod persistently gets 401 responses.",
  list: "status.targets",
});

// The gauges of workloads, from status.

const LABELS = ["namespace", "name", "workload"] as const;

/** Only workloads with such pods have a series, since a cluster may have thousands of workloads. */
const REJECTED: StatusGauge = {
  name: "rejected_pods",
  help: "Pods of a workload whose token is persistently rejected, by what recreated their ServiceAccount: HelmHook, ArgoCDHook, Other, or Unknown (perhaps nothing). No series: none.",
  labels: [...LABELS, "recreated_by"],
  samples: (key, object) =>
    ofActive(object, "targets").flatMap(({ kind, name, rejectedPods, recreatedBy = "Unknown" }) =>
      sampleOf(key, `${kind}/${name}`, rejectedPods, { recreated_by: recreatedBy }),
    ),
};

const INEFFECTIVE: StatusGauge = {
  name: "ineffective_restarts",
  help: "Restarts of a workload in a row that did not help. No series: the last finished one helped, or there was none.",
  labels: LABELS,
  samples: (key, object) => {
    const causes: readonly string[] = TOKEN_CAUSES;
    const restarts = ofActive(object, "restarts").filter(entry => causes.includes(entry.cause) && !isOpen(entry));
    const workloads = [...new Set(restarts.map(({ workload }) => workload))];
    return workloads.flatMap(workload => sampleOf(key, workload, trailingIneffective(restartsOf(workload, restarts))));
  },
};

/** The gauges of workloads. */
export const TOKEN_GAUGES: readonly StatusGauge[] = [REJECTED, INEFFECTIVE];

/** A list of status; nothing while the object is suspended, since no pass looks then. */
function ofActive<List extends "targets" | "restarts">(
  { spec, status }: StatusOwner,
  list: List,
): NonNullable<StatusOwner["status"][List]> {
  return (spec.suspend ? undefined : status[list]) ?? [];
}

function sampleOf(key: string, workload: string, value: number, more: GaugeSample["labels"] = {}): GaugeSample[] {
  return value === 0 ? [] : [{ labels: { ...splitKey(key), workload, ...more }, value }];
}
