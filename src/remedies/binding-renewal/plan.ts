import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { describeOutcome, type Execution } from "../../core/intent";
import type { EventRequest, Outcomes, Plan, PlanItem, Report } from "../../core/remedy";
import { each, type Steps } from "../../core/slices";
import { toSeconds } from "../../core/time";
import { summarize, targetNotFound, worstFirst } from "../kit/finding";
import { type BindingFinding, nameOf, planGone, type PlannedRenewal, unrenewed } from "./finding";
import { planLiving } from "./living";
import { bindingId, isFinal, isListed, type ObservedBindings } from "./observe";
import { type Reason, REASONS } from "./reasons";
import { rightsFor, rulesOf } from "./rights";

const MIN_RECHECK_MS = 1_000;

/** What to report and write for one binding, or for a named binding or a target that does not exist. */
export interface BindingItem extends PlanItem {
  readonly finding: BindingFinding;
}

/** A plan for all bindings of one object. */
export interface BindingPlan extends Plan<BindingItem> {
  /** Entries of status.bindings without an item, which stay as they are. */
  readonly kept: readonly BindingStatus[];
  readonly recheckAfterMs?: number;
}

/** Plans for each binding. There may be hundreds of bindings, so it yields after each. */
export function* planBindings(observed: ObservedBindings, spec: BindingRenewalSpec, now: Date): Steps<BindingPlan> {
  const nowMs = Math.max(now.getTime(), observed.latestMs);
  const living = yield* each(observed.living, binding =>
    itemOf(bindingId(binding.view), planLiving(binding, observed.mode, spec, nowMs)),
  );
  const gone = observed.gone.map(record => itemOf(bindingId(record), planGone(record, isListed(spec, record), nowMs)));
  const items = [...[...living, ...gone].toSorted(byExpiry), ...missing(observed)];
  const nextMs = Math.min(...items.flatMap(({ finding }) => finding.nextMs ?? []).filter(ms => ms > nowMs));
  const recheck = Number.isFinite(nextMs) ? { recheckAfterMs: Math.max(MIN_RECHECK_MS, nextMs - nowMs) } : {};
  return { items, kept: observed.kept, ...recheck };
}

/** Orders items by expiry, those without one last, and then by id. */
function byExpiry(a: BindingItem, b: BindingItem): number {
  // RFC 3339 in UTC sorts as text.
  const keyOf = ({ id, finding }: BindingItem): string => `${finding.entry?.expiryTime ?? "~"} ${id}`;
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

function itemOf(id: string, finding: BindingFinding): BindingItem {
  return { id, intents: finding.intents ?? [], finding };
}

function missing({ absent, missingTargets, omitted }: ObservedBindings): BindingItem[] {
  const items = [
    ...absent.map((binding, index) => {
      const sentence = `Binding not found: ${nameOf(binding)}.`;
      return itemOf(`absent/${index}`, { status: "False", reason: "TargetNotFound", sentence });
    }),
    ...missingTargets.map((target, index) => itemOf(`target/${index}`, targetNotFound(target))),
  ];
  if (omitted === 0) return items;
  const sentence = `${omitted} more bindings are neither renewed nor reported: spread the targets over several objects.`;
  return [...items, itemOf("omitted", { status: "False", reason: "TooMany", sentence, isStalled: true })];
}

/** Bindings that are gone and stay in status. Older ones are dropped. */
const MAX_FINAL = 64;

/** Events per pass; the sink holds 200. */
const MAX_EVENTS = 50;

/** Condition, status.bindings and Events from the plan and the outcomes of its writes. Pure. */
export function reportBindings(plan: BindingPlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const findings = bySeverity(plan.items.map(item => findingOf(item, outcomes, now)));
  return {
    ...summarize(findings, noBindings(), "status.bindings"),
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
