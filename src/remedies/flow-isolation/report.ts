import { firstOf } from "../../core/text";
import { type Execution, pendingWrites } from "../../core/intent";
import { capitalize, type ObserveMode, whyObserved, type Outcomes, type Report } from "../../core/remedy";
import { summarize, withPending, worstFirst } from "../kit/finding";
import type { FlowItem, Told } from "./flow-item";
import type { FlowPlan } from "./plan";
import { type Finding, type Reason, REASONS } from "./reasons";

/** After a write: the API server applies a FlowSchema within a second or two. In milliseconds. */
const WRITTEN_MS = 2_000;

/** After a write that failed, in milliseconds: haste gains nothing where it will fail again. */
const FAILED_MS = 30_000;

/** The condition, status.flows and the Events of a plan after its execution. Pure. */
export function reportFlows(plan: FlowPlan, outcomes: Outcomes): Report<Reason | "Forbidden"> {
  const { items, mode, recheckAfterMs } = plan;
  const executions = [...outcomes.values()].flat();
  const told = items.map(item => toldOf(item, outcomes.get(item.id)));
  const findings = [
    ...told.flatMap(one => one.findings),
    ...plan.findings,
    ...(mode === "Enforce" ? [] : notWritten(items, mode)),
  ];
  const recheckMs = executions.some(isExecuted) ? WRITTEN_MS : Infinity;
  const retryMs = pendingWrites(executions).length > 0 ? FAILED_MS : Infinity;
  const report: Report<Reason | "Forbidden"> = {
    ...summarize(worstFirst(REASONS, findings), ISOLATED, rest => `Plus ${rest} more; see status.flows.`),
    lists: { flows: told.flatMap(({ entry }) => entry ?? []) },
    recheckAfterMs: Math.min(recheckAfterMs, recheckMs, retryMs),
  };
  // A throttle that cannot be lifted does harm now.
  return withPending(report, executions, "ReleaseFailed");
}

const ISOLATED: Finding = { status: "True", reason: "Isolated", sentence: "Every flow is isolated." };

function toldOf(item: FlowItem, executions: readonly Execution[] = []): Told {
  const isWritten = executions.some(one => isExecuted(one) && one.intent.target.name === item.entry?.flowSchema);
  return (isWritten ? item.written : undefined) ?? item;
}

/** One finding about all writes that are left out, so that the message says once why. */
function notWritten(items: readonly FlowItem[], mode: ObserveMode): Finding[] {
  const intents = items.flatMap(item => item.intents);
  if (intents.length === 0) return [];
  const names = intents.map(({ verb, target }) => `${verb} ${target.kind} ${target.name}`);
  const isUnmeasured = intents.some(({ verb, target }) => verb === "create" && target.kind === "FlowSchema");
  const note = isUnmeasured ? " Requests are measured only once the ServiceAccount is isolated." : "";
  const sentence = `${capitalize(whyObserved(mode))}: would ${firstOf(names, MAX_NAMES)} now.${note}`;
  return [{ status: "False", reason: "WouldIsolate", sentence }];
}

/** Names in one message; there may be hundreds. */
const MAX_NAMES = 4;

function isExecuted({ outcome }: Execution): boolean {
  return outcome.result === "Executed";
}
