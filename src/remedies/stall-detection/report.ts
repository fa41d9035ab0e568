import type { Execution } from "../../core/intent";
import { HEALTHY_INTERVAL_MS } from "../../core/readers";
import type { Outcomes, Report } from "../../core/remedy";
import { answerOf, BLOCKED_HINT, eventOf, needsPerson } from "../../restarts/claims";
import { withPatience } from "../../restarts/limits";
import { summarize, worstFirst } from "../kit/summarize";
import type { StallItem, StallPlan } from "./plan";
import { type Finding, type Reason, REASONS } from "./reasons";

const NOTHING: Finding = { status: "True", reason: "NothingToDo", sentence: "No workloads to watch." };

/** Reports on a plan and its outcomes. Pure. */
export function reportStalls(plan: StallPlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const findings = [...plan.items.flatMap(item => findingsOf(item, outcomes, now)), ...plan.findings];
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

function findingsOf({ id, findings, restart }: StallItem, outcomes: Outcomes, now: Date): readonly Finding[] {
  const [execution] = outcomes.get(id) ?? [];
  if (execution === undefined || restart === undefined) return findings;
  const result = resultOf(execution, restart, now);
  return result === undefined ? findings : findings.with(restart.index, result);
}

/** Of a restart that was tried; undefined: the plan says it. */
function resultOf(
  execution: Execution,
  { sentence, wait }: NonNullable<StallItem["restart"]>,
  now: Date,
): Finding | undefined {
  const answer = answerOf(execution, now);
  if (answer === undefined) return undefined;
  const isStalled = needsPerson(answer.reason);
  const finding = { status: "False", ...answer, sentence: `${sentence} ${answer.sentence}` } as const;
  const isDone = execution.outcome.result === "Executed";
  if (isStalled || isDone) return { ...finding, isStalled, isProgressing: !isStalled };
  return withPatience({ ...finding, isProgressing: true }, BLOCKED_HINT, wait, now);
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
