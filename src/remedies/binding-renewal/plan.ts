import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { describeOutcome, type Execution, type Intent } from "../../core/intent";
import type { EventRequest, Outcomes, Plan, PlanItem, Report } from "../../core/remedy";
import { each, type Steps } from "../../core/slices";
import { toSeconds } from "../../core/time";
import { summarize, targetNotFound, worstFirst } from "../kit/finding";
import { type BindingFinding, clauseOf, eventsOf, type ExpiringCase, nameOf, planGone, unrenewed } from "./finding";
import { planLiving } from "./living";
import { bindingId, isFinal, isListed, type ObservedBindings } from "./observe";
import { type Reason, REASONS } from "./reasons";
import { rightsFor, rulesOf } from "./rights";
import { timeOf } from "./schedule";

const MIN_RECHECK_MS = 1_000;

/** What to report and write for one binding, or for a named binding or a target that does not exist. */
export interface BindingItem extends PlanItem, BindingFinding {
  readonly intents: readonly Intent[];
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
    itemOf(bindingId(binding.view), planLiving({ ...binding, mode: observed.mode, spec, nowMs })),
  );
  const gone = observed.gone.map(record => itemOf(bindingId(record), planGone(record, isListed(spec, record), nowMs)));
  const items = [...[...living, ...gone].toSorted(byExpiry), ...missing(observed)];
  const nextMs = Math.min(...items.flatMap(item => item.nextMs ?? []).filter(ms => ms > nowMs));
  const recheck = Number.isFinite(nextMs) ? { recheckAfterMs: Math.max(MIN_RECHECK_MS, nextMs - nowMs) } : {};
  return { items, kept: observed.kept, ...recheck };
}

/** Orders by expiry, those without one last, and then by id. RFC 3339 in UTC sorts as text. */
function byExpiry(a: Pick<BindingItem, "id" | "entry">, b: Pick<BindingItem, "id" | "entry">): number {
  const keyOf = ({ id, entry }: typeof a): string => `${entry?.expiryTime ?? "~"} ${id}`;
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

function itemOf(id: string, finding: BindingFinding): BindingItem {
  return { intents: [], ...finding, id };
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
  const items = plan.items.map(item => ({ ...item, ...after(item, outcomes.get(item.id), now) }));
  const findings = bySeverity(items);
  return {
    ...summarize(findings, NONE, "status.bindings"),
    ...(plan.recheckAfterMs !== undefined && { recheckAfterMs: plan.recheckAfterMs }),
    lists: { bindings: entriesOf(findings, plan.kept) },
    events: cut(findings.flatMap(eventsOf)),
  };
}

const NONE: BindingFinding = {
  status: "True",
  reason: "NothingToDo",
  sentence: "No binding with an expiry has a ServiceAccount of the targets as a subject.",
};

/** The finding after the renewal: the planned one if nothing was executed. */
function after(planned: BindingFinding, [execution]: readonly Execution[] = [], now: Date): BindingFinding {
  const { renews } = planned;
  if (execution === undefined || renews === undefined) return planned;
  switch (execution.outcome.result) {
    case "Executed":
      return executed(planned, renews, now);
    case "Observed":
    case "Skipped":
    case "NotLeader":
      return planned;
    case "Forbidden":
      return forbidden(planned, renews, execution);
    default:
      return unrenewed({ ...planned, sentence: failureOf(renews, execution) }, renews.schedule, now.getTime());
  }
}

function executed(planned: BindingFinding, { view, renewal, schedule }: ExpiringCase, now: Date): BindingFinding {
  const { expiryMs = 0 } = renewal ?? {};
  const expiryTime = timeOf(expiryMs);
  const sentence = `${nameOf(view)} is renewed until ${expiryTime}.`;
  if (planned.entry === undefined) return { ...planned, sentence };
  // As the next pass finds it.
  const renewTime = timeOf(expiryMs - schedule.atMs + schedule.renewAtMs);
  const times = { expiryTime, renewTime, latestExpiryTime: expiryTime, lastRenewalTime: toSeconds(now) };
  const entry: BindingStatus = { ...planned.entry, ...times, state: "Current" };
  return { ...planned, sentence, entry };
}

function failureOf(renews: ExpiringCase, execution: Execution): string {
  const { outcome } = execution;
  if (outcome.result === "Limited" && outcome.detail !== undefined)
    return `${clauseOf(renews)}; the renewal is due. ${outcome.detail}`;
  return `${clauseOf(renews)}; the renewal failed and is retried: ${describeOutcome(execution)}.`;
}

/** The API server refused a write that the review of rights allowed: an admission policy, or a right that was just taken away. */
function forbidden(planned: BindingFinding, renews: ExpiringCase, execution: Execution): BindingFinding {
  const sentence = `${clauseOf(renews)}; the renewal was forbidden: ${describeOutcome(execution)}. Required permissions: ${rulesOf(rightsFor(renews.view))}.`;
  return { ...planned, status: "False", reason: "Forbidden", sentence, isStalled: true };
}

/**
 * False before True, then by the order of {@link REASONS}; findings of one reason keep their order. What is gone and not missed comes last:
 * it says nothing about the access that is left.
 */
function bySeverity(items: readonly BindingItem[]): BindingItem[] {
  const rank = ({ status, entry }: BindingFinding): number =>
    status === "False" ? 0 : entry !== undefined && isFinal(entry) ? 2 : 1;
  return worstFirst(REASONS, items).toSorted((a, b) => rank(a) - rank(b));
}

/** Too many Events for a reader are cut; status has all bindings. */
function cut(events: readonly EventRequest[]): EventRequest[] {
  const [first, ...others] = events.slice(MAX_EVENTS);
  if (first === undefined) return [...events];
  const note = `Plus ${others.length + 1} more bindings; see status.bindings.`;
  return [...events.slice(0, MAX_EVENTS), { type: first.type, reason: first.reason, note }];
}

/** The next to expire first, bindings that are gone last: the engine cuts a status that is too large at its end. */
function entriesOf(items: readonly BindingItem[], kept: readonly BindingStatus[]): BindingStatus[] {
  const all = [...items.flatMap(({ entry }) => entry ?? []), ...kept];
  const sorted = all.map(entry => ({ entry, id: bindingId(entry) })).toSorted(byExpiry);
  const entries = sorted.map(({ entry }) => entry);
  return [...entries.filter(entry => !isFinal(entry)), ...entries.filter(isFinal).slice(-MAX_FINAL)];
}
