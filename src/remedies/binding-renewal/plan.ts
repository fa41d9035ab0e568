import type { BindingRenewalSpec, BindingStatus, RenewalTargetStatus } from "../../api/controller-resilience";
import type { Plan, PlanItem } from "../../core/remedy";
import { each, type Steps } from "../../core/slices";
import { targetNotFound } from "../kit/finding";
import type { ObservedBindings } from "./observed";
import type { BindingFinding } from "./plan/finding";
import { planGone } from "./plan/gone";
import { planLiving } from "./plan/living";
import { bindingId, timeOf } from "./record";
import { nameOf } from "./wording";

/** Writes per pass; the next pass continues. Far more than a namespace needs, and few enough for the time of a pass. */
const MAX_WRITES = 100;
/** If there are more writes, each minute starts with other bindings, so that failing writes do not keep the others waiting. */
const ROTATION_MS = 60_000;
const MIN_RECHECK_MS = 1_000;

/** What to report and write for one binding, or for a listed binding or a target that does not exist. */
export interface BindingItem extends PlanItem {
  readonly finding: BindingFinding;
}

/** A plan for all bindings of one object. */
export interface BindingPlan extends Plan<BindingItem> {
  /** Entries of status.bindings without an item, which stay as they are. */
  readonly kept: readonly BindingStatus[];
  /** status.renewalTargets; undefined if it stays absent. */
  readonly pins: readonly RenewalTargetStatus[] | undefined;
  readonly recheckAfterMs?: number;
}

/** Plans for each binding. Pure and total. There may be hundreds of bindings, so it yields after each. */
export function* planBindings(observed: ObservedBindings, spec: BindingRenewalSpec, now: Date): Steps<BindingPlan> {
  const nowMs = now.getTime();
  const living = yield* each(observed.living, binding =>
    itemOf(bindingId(binding.view), planLiving(binding, observed, spec, nowMs)),
  );
  const gone = yield* each(observed.gone, binding => itemOf(bindingId(binding.record), planGone(binding, spec)));
  const bindings = [...living, ...gone].toSorted(byExpiry);
  const items = [...bindings, ...missing(observed), ...changed(observed), ...withoutSlot(observed)];
  return { items: rotated(items, nowMs), kept: observed.kept, pins: observed.pins, ...recheckOf(items, nowMs) };
}

/** Orders items by expiry, those without one last. */
export function byExpiry({ finding: a }: BindingItem, { finding: b }: BindingItem): number {
  const [first, second] = [a.entry?.expiryTime ?? "~", b.entry?.expiryTime ?? "~"];
  // RFC 3339 in UTC sorts as text.
  return first < second ? -1 : Number(first > second);
}

function itemOf(id: string, finding: BindingFinding): BindingItem {
  return { id, intents: finding.intents ?? [], finding };
}

function missing({ absent, missingTargets }: ObservedBindings): BindingItem[] {
  return [
    ...absent.map((binding, index) => {
      const sentence = `Binding not found: ${nameOf(binding)}.`;
      return itemOf(`absent/${index}`, { status: "False", reason: "BindingNotFound", sentence });
    }),
    ...missingTargets.map((target, index) => itemOf(`target/${index}`, targetNotFound(target))),
  ];
}

function changed(observed: ObservedBindings): BindingItem[] {
  return observed.changed.map(({ workload, serviceAccount, isBound }) => {
    const sentence =
      `${workload} runs as ServiceAccount ${serviceAccount}: its bindings are not renewed, because it did not when spec.targets or ` +
      "spec.bindingRenewal last changed. To include it, change spec.bindingRenewal, or list its bindings there.";
    const status = isBound ? "False" : "True";
    return itemOf(`account/${serviceAccount}`, {
      status,
      reason: "ServiceAccountChanged",
      sentence,
      isStalled: isBound,
    });
  });
}

function withoutSlot({ withoutSlot: { count, firstExpiryMs } }: ObservedBindings): BindingItem[] {
  if (count === 0) return [];
  const next = firstExpiryMs === undefined ? "" : `, the next of which expires at ${timeOf(firstExpiryMs)}`;
  const sentence =
    `status.bindings has no room for ${count} more${next}; the operator does not renew them. ` +
    `Spread the targets over several objects, or list the important bindings in spec.bindingRenewal.bindings.`;
  return [itemOf("without-slot", { status: "False", reason: "TooManyBindings", sentence, isStalled: true })];
}

/** The items with at most {@link MAX_WRITES} intents in total; which ones come first changes every minute. */
function rotated(items: readonly BindingItem[], nowMs: number): BindingItem[] {
  const writing = items.filter(({ intents }) => intents.length > 0);
  if (writing.length <= MAX_WRITES) return [...items];
  const first = (Math.floor(nowMs / ROTATION_MS) * MAX_WRITES) % writing.length;
  const turned = [...writing.slice(first), ...writing.slice(0, first)];
  const later = turned.slice(MAX_WRITES).map(item => ({ ...item, intents: [] }));
  return [...turned.slice(0, MAX_WRITES), ...later, ...items.filter(({ intents }) => intents.length === 0)];
}

function recheckOf(items: readonly BindingItem[], nowMs: number): Pick<BindingPlan, "recheckAfterMs"> {
  const times = items.flatMap(({ finding }) => finding.nextMs ?? []);
  const nextMs = Math.min(...times.filter(ms => ms > nowMs));
  return Number.isFinite(nextMs) ? { recheckAfterMs: Math.max(MIN_RECHECK_MS, nextMs - nowMs) } : {};
}
