import type { BindingStatus } from "../../api/controller-resilience";
import { type Execution, describeOutcome } from "../../core/intent";
import type { EventRequest, Outcomes, Report } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { summarize, worstFirst } from "../kit/finding";
import { type BindingFinding, nameOf, type PlannedRenewal, unrenewed } from "./finding";
import { bindingId, isFinal } from "./observe";
import type { BindingItem, BindingPlan } from "./plan";
import { type Reason, REASONS } from "./reasons";
import { rightsFor, rulesOf } from "./rights";

/** Bindings that are gone and stay in status. Older ones are dropped. */
const MAX_FINAL = 64;

/** Events per pass; the sink holds 200. */
const MAX_EVENTS = 50;

/** Condition, status.bindings and Events from the plan and the outcomes of its writes. Pure. */
export function reportBindings(plan: BindingPlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const findings = bySeverity(plan.items.map(item => findingOf(item, outcomes, now)));
  return {
    ...summarize(findings, noBindings(), count => `Plus ${count} more; see status.bindings.`),
    ...(plan.recheckAfterMs !== undefined && { recheckAfterMs: plan.recheckAfterMs }),
    lists: { bindings: entriesOf(findings, plan.kept) },
    events: eventsOf(findings),
  };
}

function noBindings(): BindingFinding {
  const sentence = "No binding with an expiry has a ServiceAccount of the targets as a subject.";
  return { status: "True", reason: "NothingToDo", sentence };
}

/** The finding after the renewal: the planned one if nothing was executed. */
function findingOf({ id, finding }: BindingItem, outcomes: Outcomes, now: Date): BindingFinding {
  const [execution] = outcomes.get(id) ?? [];
  if (execution === undefined || finding.renewal === undefined) return finding;
  switch (execution.outcome.result) {
    case "Executed":
      return executed(finding, finding.renewal, now);
    case "Observed":
    case "Skipped":
    case "NotLeader":
      return finding;
    case "Forbidden":
      return forbidden(finding, finding.renewal, execution);
    default:
      return unrenewed({ ...finding, sentence: failureOf(finding.renewal, execution) }, finding.renewal, now.getTime());
  }
}

function executed(finding: BindingFinding, { view, expiryTime }: PlannedRenewal, now: Date): BindingFinding {
  const sentence = `${nameOf(view)} is renewed until ${expiryTime}.`;
  if (finding.entry === undefined) return { ...finding, sentence };
  const times = { expiryTime, latestExpiryTime: expiryTime, lastRenewalTime: toSeconds(now) };
  const entry: BindingStatus = { ...finding.entry, ...times, state: "Current" };
  delete entry.renewTime;
  return { ...finding, sentence, entry };
}

function failureOf({ clause }: PlannedRenewal, execution: Execution): string {
  const { outcome } = execution;
  if (outcome.result === "Limited" && outcome.detail !== undefined)
    return `${clause}; the renewal is due. ${outcome.detail}`;
  return `${clause}; the renewal failed and is retried: ${describeOutcome(execution)}.`;
}

/** The API server refused a write that the review of rights allowed: an admission policy, or a right that was just taken away. */
function forbidden(finding: BindingFinding, { clause, view }: PlannedRenewal, execution: Execution): BindingFinding {
  const sentence = `${clause}; the renewal was forbidden: ${describeOutcome(execution)}. Required permissions: ${rulesOf(rightsFor(view))}.`;
  return { ...finding, status: "False", reason: "Forbidden", sentence, isStalled: true };
}

/**
 * False before True, then by the order of {@link REASONS}; findings of one reason keep their order. What is gone and not missed comes last:
 * it says nothing about the access that is left.
 */
function bySeverity(findings: readonly BindingFinding[]): BindingFinding[] {
  const ranked = worstFirst(REASONS, findings);
  const isPast = ({ status, entry }: BindingFinding): boolean =>
    status === "True" && entry !== undefined && isFinal(entry);
  return [
    ...ranked.filter(({ status }) => status === "False"),
    ...ranked.filter(finding => finding.status !== "False" && !isPast(finding)),
    ...ranked.filter(isPast),
  ];
}

/** Too many Events for a reader are cut; status has all bindings. */
function eventsOf(findings: readonly BindingFinding[]): EventRequest[] {
  const all = findings.flatMap(({ events }) => events ?? []);
  const [first, ...others] = all.slice(MAX_EVENTS);
  if (first === undefined) return all;
  const note = `Plus ${others.length + 1} more bindings; see status.bindings.`;
  return [...all.slice(0, MAX_EVENTS), { type: first.type, reason: first.reason, note }];
}

/** The next to expire first, bindings that are gone last: the engine cuts a status that is too large at its end. */
function entriesOf(findings: readonly BindingFinding[], kept: readonly BindingStatus[]): BindingStatus[] {
  const entries = [...findings.flatMap(({ entry }) => entry ?? []), ...kept].toSorted((a, b) =>
    sortKey(a) < sortKey(b) ? -1 : 1,
  );
  return [...entries.filter(entry => !isFinal(entry)), ...entries.filter(isFinal).slice(-MAX_FINAL)];
}

function sortKey(entry: BindingStatus): string {
  return `${entry.expiryTime ?? "~"} ${bindingId(entry)}`;
}
