import type { RestartStatus } from "../../api/controller-resilience";
import { type Execution, describeOutcome } from "../../core/intent";
import { HEALTHY_INTERVAL_MS } from "../../core/readers";
import type { EventRequest, Outcomes, Report } from "../../core/remedy";
import { summarize, worstFirst } from "../kit/summarize";
import type { StallItem, StallPlan } from "./plan";
import { type Finding, type Reason, REASONS } from "./reasons";
import { waiting } from "./restart";

const NOTHING: Finding = { status: "True", reason: "NothingToDo", sentence: "No workloads to watch." };

/** Reports on a plan and its outcomes. Pure. */
export function reportStalls(plan: StallPlan, outcomes: Outcomes): Report<Reason> {
  const findings = [...plan.items.flatMap(item => findingsOf(item, outcomes)), ...plan.findings];
  const sorted = worstFirst<Reason, Finding>(REASONS, findings);
  const shown = sorted.filter(({ status, isNotable }) => status !== "True" || isNotable === true);
  const { message, ...summary } = summarize(sorted, NOTHING, describeRest);
  return {
    ...summary,
    message: messageOf(plan, shown) ?? message,
    lists: { stalls: [...plan.items.flatMap(({ entries }) => entries), ...plan.kept] },
    events: plan.settled.map(eventOf),
    ...recheckOf(plan, outcomes),
  };
}

function messageOf({ items, findings }: StallPlan, shown: readonly Finding[]): string | undefined {
  if (shown.length > 0) return summarize(shown, NOTHING, describeRest).message;
  if (items.length < 2 || findings.length > 0) return undefined;
  const pods = items.reduce((sum, item) => sum + item.pods, 0);
  return `${items.length} workloads (${pods} pods): none shows a sign of a stall.`;
}

function describeRest(count: number): string {
  return `Plus ${count} more; see status.stalls.`;
}

function findingsOf({ id, findings, restart }: StallItem, outcomes: Outcomes): readonly Finding[] {
  const [execution] = outcomes.get(id) ?? [];
  const result = execution && resultOf(execution, restart?.isLate === true);
  if (restart === undefined || result === undefined) return findings;
  const { reason, sentence, ...state } = result;
  const told = { status: "False", reason, sentence: `${restart.sentence} ${sentence}`, ...state } as const;
  return findings.with(restart.index, told);
}

/** What became of a restart; undefined: the plan says it. `isLate`: what blocks it may never end. */
function resultOf(execution: Execution, isLate: boolean): Omit<Finding, "status"> | undefined {
  const { outcome, intent } = execution;
  const why = describeOutcome(execution);
  switch (outcome.result) {
    case "Executed":
      return { reason: "Restarting", sentence: `Evicted pod ${intent.target.name}.`, isProgressing: true };
    case "Blocked":
      return { reason: "RestartBlocked", sentence: `Restart blocked: ${why}.`, ...waiting(isLate) };
    case "Limited": {
      const isBreaker = outcome.limit === "Breaker";
      const sentence = outcome.detail ?? `Restart ${why}.`;
      if (isBreaker) return { reason: "BreakerTripped", sentence, isStalled: true };
      return { reason: "RestartDeferred", sentence, isProgressing: true };
    }
    case "Forbidden":
      return { reason: "Forbidden", sentence: `The operator may not evict pods: ${why}.`, isStalled: true };
    case "Conflict":
    case "Failed":
      return { reason: "RestartDeferred", sentence: `Restart failed, retrying: ${why}.`, isProgressing: true };
    default:
      return undefined;
  }
}

function recheckOf({ recheckAfterMs }: StallPlan, outcomes: Outcomes): Pick<Report, "recheckAfterMs"> {
  const waits = [...outcomes.values()]
    .flat()
    .map(({ outcome }) => ("retryAfterMs" in outcome ? outcome.retryAfterMs : 0));
  const soonestMs = Math.min(
    recheckAfterMs ?? Infinity,
    ...waits.map(ms => Math.min(ms || HEALTHY_INTERVAL_MS, HEALTHY_INTERVAL_MS)),
  );
  return soonestMs === Infinity ? {} : { recheckAfterMs: soonestMs };
}

function eventOf({ pod, workload, outcome }: RestartStatus): EventRequest {
  if (outcome === "Recovered")
    return {
      type: "Normal",
      reason: "PodRecovered",
      note: `${workload} renews its Lease again after the restart of pod ${pod}.`,
    };
  if (outcome === "Replaced")
    return {
      type: "Normal",
      reason: "PodReplaced",
      note: `Whether the restart of pod ${pod} helped is unknown: ${workload} was scaled to zero or is gone.`,
    };
  const note = `The restart of pod ${pod} of ${workload} did not help, or not for long: its Lease is not renewed.`;
  return { type: "Warning", reason: "RestartIneffective", note };
}
