import { count, splitKey } from "../../core/text";
import type { Execution } from "../../core/intent";
import type { GaugeSample, Outcomes, Report, StatusGauge } from "../../core/remedy";
import type { StatusOwner } from "../../core/ports";
import { answerOf, endsWait, eventOf, needsPerson, withWaitAfter } from "../../restarts/claims";
import { isOpen, restartsOf, trailingIneffective } from "../../restarts/history";
import { SUSPICIOUS_INTERVAL_MS } from "../../core/readers";
import type { Finding } from "../kit/finding";
import { worstFirst } from "../kit/summarize";
import { TOKEN_CAUSES } from "./observed";
import type { TokenRestartPlan, WorkloadItem } from "./plan";
import { REASONS, type Reason } from "./reasons";
import { joinFindings } from "./wording";

const NOTHING: Finding<Reason> = { status: "True", reason: "Accepted", sentence: "No workloads to watch." };

/** Reasons after executed intents, gravest first. */
const RESULTS = ["Forbidden", "BreakerTripped", "RestartBlocked", "RestartDeferred", "Rejected", "Restarting"] as const;
type Result = Finding<(typeof RESULTS)[number]>;

/** Reasons of one workload that stay the condition's reason, whatever the outcome of another workload's restart. */
const GRAVEST: ReadonlySet<Reason> = new Set(["RestartsExhausted", "ServiceAccountMissing"]);

/** Reports on a plan and its outcomes. Pure. */
export function reportTokens(plan: TokenRestartPlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const planned = worstFirst(REASONS, [...plan.items.map(({ assessment }) => assessment), ...plan.findings]);
  const worst = planned[0] ?? NOTHING;
  const results = plan.items.flatMap(item => resultsOf(item, outcomes, now));
  const gravest = RESULTS.find(reason => results.some(result => result.reason === reason));
  const reason = gravest === undefined || GRAVEST.has(worst.reason) ? worst.reason : gravest;
  return {
    status: worst.status,
    reason,
    message: messageOf(plan, reason, outcomes, now),
    ...recheckOf(plan, gravest, outcomes),
    progressing: gravest === undefined ? planned.some(({ isProgressing }) => isProgressing) : !needsPerson(gravest),
    ...stalledOf(plan, results, outcomes, now),
    lists: {
      targets: plan.items.map(({ id, target, wait }) => withWaitAfter(target, wait.before, outcomes.get(id) ?? [])),
    },
    events: plan.settled.map(entry => eventOf(entry)),
  };
}

function recheckOf(
  { recheckAfterMs }: TokenRestartPlan,
  gravest: Reason | undefined,
  outcomes: Outcomes,
): Pick<Report, "recheckAfterMs"> {
  if (gravest === undefined) return recheckAfterMs === undefined ? {} : { recheckAfterMs };
  const tried = [...outcomes.values()].flat().map(({ outcome }) => outcome);
  // An object that has had its turn asks for the next one in time. If all did, many would ask in vain.
  const paced = tried.flatMap(one =>
    one.result === "Limited" && one.limit === "RestartPacer" ? one.retryAfterMs : [],
  );
  const hadTurn = tried.some(({ result }) => result === "Executed");
  return { recheckAfterMs: Math.min(SUSPICIOUS_INTERVAL_MS, ...(hadTurn ? paced : [])) };
}

function messageOf(plan: TokenRestartPlan, reason: Reason, outcomes: Outcomes, now: Date): string {
  const workloads = plan.items.map(item => findingOf(item, outcomes, now));
  const findings = worstFirst<Reason, Finding<Reason>>(REASONS, [...workloads, ...plan.findings]);
  const [only] = findings;
  if (only === undefined) return NOTHING.sentence;
  const notable = findings.filter(
    ({ reason: one, isNotable }) => isNotable === true || (one !== "Accepted" && one !== "NothingToDo"),
  );
  if (notable.length > 0) {
    const first = notable.filter(finding => finding.reason === reason);
    const sentences = joinFindings([...first, ...notable.filter(finding => !first.includes(finding))]);
    return [sentences, ...describeCounts(workloads)].join(" ");
  }
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

/** What the message says about one workload. */
function findingOf(item: WorkloadItem, outcomes: Outcomes, now: Date): Finding<Reason> {
  const { assessment } = item;
  if (assessment.restart === undefined) return assessment;
  const [result] = resultsOf(item, outcomes, now);
  const { sentence, restart } = assessment;
  const next = result?.sentence ?? restart.next;
  return { ...assessment, ...result, sentence: [sentence, next, restart.rest].filter(part => part !== "").join(" ") };
}

/** The results of executed intents. An intent that was not executed has none. */
function resultsOf({ id, assessment }: WorkloadItem, outcomes: Outcomes, now: Date): Result[] {
  if (assessment.restart === undefined) return [];
  return (outcomes.get(id) ?? []).flatMap(execution => resultOf(execution, now) ?? []);
}

function resultOf(execution: Execution, now: Date): Result | undefined {
  const answer = answerOf(execution, now);
  if (answer === undefined) return undefined;
  const isFailed = execution.outcome.result === "Failed" || execution.outcome.result === "Conflict";
  return { status: "False", ...answer, ...(isFailed && { reason: "Rejected" }) };
}

function stalledOf(
  { items, findings }: TokenRestartPlan,
  results: readonly Result[],
  outcomes: Outcomes,
  now: Date,
): Pick<Report<Reason>, "stalled"> {
  const gravest = RESULTS.flatMap(reason => results.filter(one => one.reason === reason))[0];
  if (gravest !== undefined && needsPerson(gravest.reason)) {
    return { stalled: { reason: gravest.reason, message: gravest.sentence } };
  }
  const waiting = items.filter(({ id }) => !(outcomes.get(id) ?? []).some(endsWait));
  const current = waiting.map(item => findingOf(item, outcomes, now));
  const stalled = worstFirst<Reason, Finding<Reason>>(REASONS, [...current, ...findings]).filter(one => one.isStalled);
  const [first] = stalled;
  return first === undefined ? {} : { stalled: { reason: first.reason, message: joinFindings(stalled) } };
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
