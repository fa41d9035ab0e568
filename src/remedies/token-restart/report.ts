import { count, splitKey } from "../../core/text";
import type { GaugeSample, Outcomes, Report, StatusGauge } from "../../core/remedy";
import type { StatusOwner } from "../../core/ports";
import { answerOf, eventOf, needsPerson } from "../../restarts/claims";
import { isOpen, restartsOf, trailingIneffective } from "../../restarts/history";
import { worstFirst, type Finding } from "../kit/finding";
import { TOKEN_CAUSES } from "./observed";
import type { TokenRestartPlan, WorkloadItem } from "./plan";
import { REASONS, type Reason } from "./reasons";
import { joinFindings } from "./wording";

const NOTHING: Finding<Reason> = { status: "True", reason: "Accepted", sentence: "No workloads to watch." };

/** Reports on a plan and its outcomes. Pure. */
export function reportTokens(plan: TokenRestartPlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const workloads = plan.items.map(item => findingOf(item, outcomes, now));
  const findings = worstFirst<Reason, Finding<Reason>>(REASONS, [...workloads, ...plan.findings]);
  const { status, reason } = findings[0] ?? NOTHING;
  const stalled = findings.filter(({ isStalled }) => isStalled);
  return {
    status,
    reason,
    message: messageOf(plan, workloads, findings),
    ...recheckOf(plan, outcomes),
    progressing: findings.some(({ isProgressing }) => isProgressing),
    ...(stalled[0] && { stalled: { reason: stalled[0].reason, message: joinFindings(stalled) } }),
    lists: { targets: plan.items.map(({ target }) => target) },
    events: plan.settled.map(entry => eventOf(entry)),
  };
}

function recheckOf({ recheckAfterMs }: TokenRestartPlan, outcomes: Outcomes): Pick<Report, "recheckAfterMs"> {
  const tried = [...outcomes.values()].flat().map(({ outcome }) => outcome);
  // An object that has had its turn asks for the next one in time. If all did, many would ask in vain.
  const paced = tried.flatMap(one =>
    one.result === "Limited" && one.limit === "RestartPacer" ? one.retryAfterMs : [],
  );
  const hadTurn = tried.some(({ result }) => result === "Executed");
  const soonestMs = Math.min(recheckAfterMs ?? Infinity, ...(hadTurn ? paced : []));
  return soonestMs === Infinity ? {} : { recheckAfterMs: soonestMs };
}

function messageOf(
  plan: TokenRestartPlan,
  workloads: readonly Finding<Reason>[],
  findings: readonly Finding<Reason>[],
): string {
  const [only] = findings;
  if (only === undefined) return NOTHING.sentence;
  const notable = findings.filter(
    ({ reason, isNotable }) => isNotable === true || (reason !== "Accepted" && reason !== "NothingToDo"),
  );
  if (notable.length > 0) return [joinFindings(notable), ...describeCounts(workloads)].join(" ");
  const isOne = only.reason === "NothingToDo" || findings.length === 1;
  return isOne ? joinFindings(findings) : describeAccepted(plan, workloads);
}

/** How many workloads have which reason, worst first; nothing if all have the same. */
function describeCounts(workloads: readonly Finding<Reason>[]): string[] {
  const present = worstFirst<Reason, Finding<Reason>>(REASONS, workloads).map(({ reason }) => reason);
  const reasons = [...new Set(present)];
  if (reasons.length < 2) return [];
  const counts = reasons.map(reason => `${present.filter(one => one === reason).length} ${reason}`);
  return [`Of ${present.length} workloads: ${counts.join(", ")}.`];
}

function describeAccepted({ items, pods }: TokenRestartPlan, workloads: readonly Finding<Reason>[]): string {
  const empty = workloads.filter(({ reason }) => reason === "NothingToDo").length;
  const accepted = `${count(items.length, "workload")} (${count(pods, "pod")}): no pod persistently gets 401 responses.`;
  return empty === 0 ? accepted : `${accepted} ${empty} of them ${empty === 1 ? "has" : "have"} no pods.`;
}

/** What there is to say about one workload after its restart was tried. */
function findingOf({ id, assessment }: WorkloadItem, outcomes: Outcomes, now: Date): Finding<Reason> {
  const { restart, sentence } = assessment;
  if (restart === undefined) return assessment;
  const [execution] = outcomes.get(id) ?? [];
  const answer = execution && answerOf(execution, now);
  const parts = [sentence, answer?.sentence ?? restart.next, restart.rest];
  const finding = { ...assessment, sentence: parts.filter(part => part !== "").join(" ") };
  if (answer === undefined) return finding;
  const isStuck = needsPerson(answer.reason);
  const isStalled = isStuck || (answer.reason !== "Restarting" && assessment.isStalled === true);
  return { ...finding, status: "False", reason: answer.reason, isStalled, isProgressing: !isStuck };
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
