import type { FlowStatus } from "../../api/controller-resilience";
import { firstOf } from "../../core/text";
import { type Execution, describePending, pendingWrites } from "../../core/intent";
import { capitalize, type ObserveMode, whyObserved, type Outcomes, type Report } from "../../core/remedy";
import { summarize, worstFirst } from "../kit/finding";
import { flowId, type FlowItem, isLevel, type Write } from "./flow-item";
import { EVENT } from "./objects";
import type { FlowPlan } from "./plan";
import { type Finding, type Reason, REASONS } from "./reasons";

/** After a write: the API server applies a FlowSchema within a second or two. In milliseconds. */
const WRITTEN_MS = 2_000;

/** After a write that failed, in milliseconds: haste gains nothing where it will fail again. */
const FAILED_MS = 30_000;

/** The condition, status.flows and the Events of a plan after its execution. Pure. */
export function reportFlows(plan: FlowPlan, outcomes: Outcomes): Report<Reason | "Forbidden"> {
  const { entries, recheckAfterMs = Infinity } = plan;
  const executions = [...outcomes.values()].flat();
  const isWritten = executions.some(isExecuted);
  const report: Report<Reason | "Forbidden"> = {
    ...summarize(
      worstFirst(REASONS, findingsOf(plan, outcomes)),
      ISOLATED,
      rest => `Plus ${rest} more; see status.flows.`,
    ),
    ...(entries && { lists: { flows: entries.map(entry => written(entry, plan, outcomes)) } }),
    recheckAfterMs: Math.min(recheckAfterMs, isWritten ? WRITTEN_MS : Infinity),
  };
  const [worst] = pendingWrites(executions);
  return worst === undefined ? report : blocked(report, worst);
}

const ISOLATED: Finding = { status: "True", reason: "Isolated", sentence: "Every flow is isolated." };

function findingsOf(plan: FlowPlan, outcomes: Outcomes): Finding[] {
  const of = (items: readonly FlowItem[]): Finding[] =>
    items.flatMap(item => [...about(item, outcomes), ...(plan.mode === "Enforce" ? writeFinding(item) : [])]);
  const levels = plan.items.filter(isLevel);
  const others = plan.items.filter(({ write }) => write?.step === "Other");
  const flows = plan.items.filter(item => !levels.includes(item) && !others.includes(item));
  const written =
    plan.mode === "Enforce" ? otherWrites(others) : notWritten([...levels, ...flows, ...others], plan.mode);
  return [...of(levels), ...of(flows), ...plan.findings, ...written];
}

function about({ id, findings, write }: FlowItem, outcomes: Outcomes): readonly Finding[] {
  // A release may be late because no replica led.
  if (write?.step === "Release" && outcomes.get(id)?.some(isExecuted) === true) {
    const released: Finding = { status: "False", reason: "Throttled", sentence: write.why, isProgressing: true };
    return findings.map(finding => (finding.reason === "ReleaseFailed" ? released : finding));
  }
  if (write?.otherwise === undefined || isThrottleWritten(outcomes.get(id))) return findings;
  return [write.otherwise.finding, ...findings.filter(({ reason }) => reason !== "Throttled")];
}

function isThrottleWritten(executions: readonly Execution[] = []): boolean {
  return executions.some(one => isExecuted(one) && one.intent.eventReason === EVENT.Throttle);
}

/** A throttle and its release have findings of their own, which say the same. */
function writeFinding({ write }: FlowItem): Finding[] {
  return write === undefined || write.step === "Throttle" || write.step === "Release"
    ? []
    : [{ status: "False", reason: "Progressing", sentence: write.why, isProgressing: true }];
}

/** One finding about all writes that are left out, so that the message says once why. */
function notWritten(items: readonly FlowItem[], mode: ObserveMode): Finding[] {
  const left = items.filter(({ write, intents }) => write !== undefined && intents.length > 0);
  if (left.length === 0) return [];
  const names = left.flatMap(({ intents }) =>
    intents.map(({ verb, target }) => `${verb} ${target.kind} ${target.name}`),
  );
  const notes = new Set(left.flatMap(({ write }) => write?.unwritten ?? []));
  const sentence = [`${capitalize(whyObserved(mode))}: would ${firstOf(names, MAX_NAMES)} now.`, ...notes].join(" ");
  return [{ status: "False", reason: "WouldIsolate", sentence }];
}

/** Names in one message; there may be hundreds. */
const MAX_NAMES = 4;

/** One sentence about surplus objects, which may be many. */
function otherWrites(items: readonly FlowItem[]): Finding[] {
  if (items.length === 0) return [];
  const what = items.flatMap(({ write }) => write?.why ?? []).join(", ");
  return [{ status: "False", reason: "Progressing", sentence: `In progress: ${what}.`, isProgressing: true }];
}

/** The entry of one ServiceAccount after the writes. */
function written(planned: FlowStatus, plan: FlowPlan, outcomes: Outcomes): FlowStatus {
  const id = flowId(planned.serviceAccount);
  const write = plan.items.find(item => item.id === id)?.write;
  const executed = (outcomes.get(id) ?? []).filter(isExecuted);
  const entry = entryAfter(planned, write, executed);
  const isWritten = executed.some(({ intent }) => intent.target.name === entry.flowSchema);
  const level = isWritten ? plan.levels[entry.serviceAccount] : undefined;
  return { ...entry, ...(level === undefined ? {} : { priorityLevel: level }) };
}

function entryAfter(planned: FlowStatus, write: Write | undefined, executed: readonly Execution[]): FlowStatus {
  const otherwise = write?.otherwise;
  return otherwise === undefined || isThrottleWritten(executed) ? planned : otherwise.entry;
}

/** A write is tried again. A throttle that cannot be lifted does harm now, so it stays the reason. */
function blocked(report: Report<Reason | "Forbidden">, worst: Execution): Report<Reason | "Forbidden"> {
  const message = `${report.message} Not written yet: ${describePending(worst)}.`;
  const { stalled, recheckAfterMs = FAILED_MS } = report;
  const retried = {
    ...report,
    message,
    ...(stalled && { stalled: { ...stalled, message } }),
    progressing: true,
    recheckAfterMs: Math.min(FAILED_MS, recheckAfterMs),
  };
  if (worst.outcome.result !== "Forbidden" || report.reason === "ReleaseFailed") return retried;
  const reason = "Forbidden";
  return { ...retried, reason, progressing: false, stalled: { reason, message } };
}

function isExecuted({ outcome }: Execution): boolean {
  return outcome.result === "Executed";
}
