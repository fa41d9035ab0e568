import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import type { Plan, PlanItem } from "../../core/remedy";
import { each, type Steps } from "../../core/slices";
import { targetNotFound } from "../kit/finding";
import { type BindingFinding, nameOf, planGone } from "./finding";
import { planLiving } from "./living";
import { bindingId, isListed, type ObservedBindings } from "./observe";

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
