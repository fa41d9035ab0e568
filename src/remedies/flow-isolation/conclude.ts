import type { FlowStatus } from "../../api/controller-resilience";
import type { Execution, Intent } from "../../core/intent";
import type { Decision } from "../../core/legacy-remedy";
import { describeUndone, undone } from "../../core/outcomes";
import { DONE } from "./build";

/** After a write: the API server takes a FlowSchema up within a second or two. In milliseconds, as all below. */
const WRITTEN_MS = 2_000;

/** After a write that failed: where it will fail again, nothing is gained by haste. */
const FAILED_MS = 30_000;

/** What was carried out is noted in status; what was not is said. Pure. */
export function concludeFlows(decision: Decision, executions: readonly Execution[]): Decision {
  const done = executions.filter(({ outcome }) => outcome.result === "Executed").map(({ intent }) => intent);
  const left = undone(executions);
  const intentsLeft = left.map(({ intent }) => intent);
  const flows = (decision.parts?.flows ?? []).map(entry => noted(unfinished(entry, intentsLeft), done));
  const recheckAfterMs = Math.min(decision.recheckAfterMs ?? Infinity, done.length > 0 ? WRITTEN_MS : Infinity);
  const concluded = { ...decision, recheckAfterMs, parts: { ...decision.parts, flows } };
  const [worst] = left;
  return worst === undefined ? concluded : hindered(concluded, worst);
}

function noted(entry: FlowStatus, done: readonly Intent[]): FlowStatus {
  const own = done.find(({ target }) => target.name === entry.flowSchema);
  const level = own === undefined ? undefined : levelIn(own);
  const isPutBack = done.some(intent => intent.eventReason === DONE.putBack && concerns(intent, entry));
  return {
    ...entry,
    ...(level === undefined ? {} : { priorityLevel: level }),
    ...(isPutBack ? { changes: (entry.changes ?? 0) + 1 } : {}),
  };
}

/**
 * What was never right for this generation nobody else has changed: without a generation, the next try is still the first. What was put back
 * before, by the entry as it was decided, was right for it once: that count has to stand.
 */
function unfinished(entry: FlowStatus, left: readonly Intent[]): FlowStatus {
  const isNew = left.some(intent => intent.eventReason === DONE.provisioned && concerns(intent, entry));
  if (!isNew || (entry.changes ?? 0) > 0) return entry;
  const begun = { ...entry };
  delete begun.generation;
  return begun;
}

/** What an intent of this remedy writes; the two kinds have no field in common. */
interface Body {
  readonly spec?: {
    readonly priorityLevelConfiguration?: { readonly name: string };
    readonly rules?: readonly {
      readonly subjects: readonly { readonly serviceAccount: { readonly name: string } }[];
    }[];
  };
}

function levelIn({ body }: Intent): string | undefined {
  return (body as Body | undefined)?.spec?.priorityLevelConfiguration?.name;
}

/** Every flow rests on the levels. */
function concerns({ target, body }: Intent, { serviceAccount }: FlowStatus): boolean {
  const subjects = (body as Body | undefined)?.spec?.rules?.flatMap(rule => rule.subjects) ?? [];
  const names = subjects.map(subject => subject.serviceAccount.name);
  return target.kind === "PriorityLevelConfiguration" || names.includes(serviceAccount);
}

function hindered(decision: Decision, worst: Execution): Decision {
  const message = `${decision.message} Not done yet: ${describeUndone(worst)}.`;
  const hindrance = { ...decision, message, recheckAfterMs: Math.min(FAILED_MS, decision.recheckAfterMs ?? FAILED_MS) };
  if (worst.outcome.result !== "Forbidden") return { ...hindrance, progressing: true };
  const reason = "Forbidden";
  return { ...hindrance, reason, progressing: false, stalled: { reason, message } };
}
