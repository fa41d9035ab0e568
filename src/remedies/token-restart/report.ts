import { splitKey } from "../../core/text";
import type { GaugeSample, StatusOwner } from "../../core/metrics";
import type { Outcomes, Report, StatusGauge } from "../../core/remedy";
import { eventOf, withAnswer } from "../../restarts/claims";
import { isOpen, restartsOf, trailingIneffective } from "../../restarts/history";
import { summarizeWorkloads, type Finding } from "../kit/finding";
import { TOKEN_CAUSES } from "./observed";
import type { TokenRestartPlan } from "./plan";
import { REASONS, type Reason } from "./reasons";

const NONE: Finding<Reason> = { status: "True", reason: "Accepted", sentence: "No workloads to watch." };

/** Reports on a plan and its outcomes. Pure. */
export function reportTokens(plan: TokenRestartPlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const workloads = plan.items.map(({ id, assessment, target: { pods } }) => {
    return { pods, findings: [withAnswer(assessment, outcomes.get(id)?.[0], now)] };
  });
  const words = { none: NONE, calm: "no pod persistently gets 401 responses.", list: "status.targets" };
  return {
    ...summarizeWorkloads<Reason>(REASONS, workloads, plan.findings, words),
    ...(plan.recheckAfterMs !== undefined && { recheckAfterMs: plan.recheckAfterMs }),
    lists: { targets: plan.items.map(({ target }) => target) },
    events: plan.settled.map(entry => eventOf(entry)),
  };
}

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
