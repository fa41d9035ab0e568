import type { ControllerResilience, DaemonSetStatus, TargetSelector } from "../api/controller-resilience";
import { matchesSelector, type WorkloadView } from "../core/views";
import { type ObjectInMode, unknownValues } from "../core/remedy";
import type { Readers } from "../core/readers";
import { isRolledOut } from "./rollouts";

// Two objects that act on one workload would not count each other's restarts, revert each other's changes and end each other's trials. So of
// several objects that take pods of a workload down, only the oldest acts. What an object has changed counts only between those that change.

/** What decides whether a workload is a target. */
type Workload = Pick<WorkloadView, "name" | "uid" | "labels"> & { readonly kind: string };

/** The other objects of the namespace, read once and only if that matters. */
export function otherObjects(
  { metadata: { namespace, uid } }: ControllerResilience,
  readers: Pick<Readers, "objects">,
): () => Promise<readonly ControllerResilience[]> {
  let reading: Promise<readonly ControllerResilience[]> | undefined;
  return async () => {
    const objects = await (reading ??= readers.objects(namespace));
    return objects.filter(({ metadata }) => metadata.uid !== uid);
  };
}

/**
 * Returns the name of the other object that restarts pods of the workload, or keeps others from it: the one that is changing the DaemonSet's
 * template, else the oldest that acts, of the same age the first by name. Undefined: this object does. Pure.
 */
export function holderOf(
  view: Workload,
  object: ControllerResilience,
  others: readonly ControllerResilience[],
): string | undefined {
  const all = [object, ...others];
  const changer = firstOf(
    all.filter(one => mayChange(view, one)),
    one => stageOf(view, one),
  );
  const isClaim = (one: ControllerResilience): boolean =>
    restarts(view, one) || (one === changer && (changes(view, one) || isChanging(view, one)));
  const rank = (one: ControllerResilience): number => (isChanging(view, one) ? 1 : 0);
  return otherThan(object, firstOf([object, ...others.filter(isClaim)], rank));
}

/** Returns the name of the object that keeps this one from a change of the DaemonSet's template: the one that has changed it, else the holder. Pure. */
export function changeHolderOf(
  view: Workload,
  object: ControllerResilience,
  others: readonly ControllerResilience[],
): string | undefined {
  const changer = firstOf([object, ...others.filter(one => mayChange(view, one))], one => stageOf(view, one));
  return otherThan(object, changer) ?? holderOf(view, object, others);
}

function firstOf(
  objects: readonly ControllerResilience[],
  rank: (object: ControllerResilience) => number,
): ControllerResilience | undefined {
  return objects.toSorted(
    (a, b) => rank(b) - rank(a) || createdMs(a) - createdMs(b) || (nameOf(a) < nameOf(b) ? -1 : 1),
  )[0];
}

function otherThan(object: ControllerResilience, first: ControllerResilience | undefined): string | undefined {
  return first === undefined || first === object ? undefined : nameOf(first);
}

/** Adds to each workload that is due for a restart which other object acts on it. An object that is only observed restarts nothing. */
export async function withHolders<W extends { readonly view: Workload }>(
  workloads: readonly W[],
  isDue: (workload: W) => boolean,
  object: ObjectInMode,
  readers: Pick<Readers, "objects">,
): Promise<(W & { readonly holder?: string })[]> {
  const others = otherObjects(object, readers);
  const found: (W & { readonly holder?: string })[] = [];
  for (const workload of workloads) {
    const isActing = object.mode === "Enforce" && isDue(workload);
    const holder = isActing ? holderOf(workload.view, object, await others()) : undefined;
    found.push(holder === undefined ? workload : { ...workload, holder });
  }
  return found;
}

/** The end of a sentence about a workload that another object acts on. */
export function describeHolder(name: string): string {
  return `ControllerResilience ${name} acts on its pods, and this one does not; remove the workload from the targets of one of them`;
}

/** The object restarts pods of the workload, or would. */
function restarts(view: Workload, object: ControllerResilience): boolean {
  const { stallDetection } = object.spec;
  return (
    isTargetOf(view, object) &&
    (acts(object, "tokenRestart") || (acts(object, "stallDetection") && stallDetection?.onStall === "Restart"))
  );
}

/** The object changes the DaemonSet, or would. */
function changes(view: Workload, object: ControllerResilience): boolean {
  return view.kind === "DaemonSet" && isTargetOf(view, object) && acts(object, "tokenLifetime");
}

/** It does, or it has something to keep or to take back. Of a DaemonSet that is no target any more it only ends the trial. */
function mayChange(view: Workload, object: ControllerResilience): boolean {
  if (entryIn(object, view)?.outcome === "Trial" || changes(view, object)) return true;
  return object.spec.tokenLifetime !== undefined && isTargetOf(view, object) && stageOf(view, object) > 0;
}

/** An object with a value that this version does not know does nothing. */
function acts(object: ControllerResilience, block: "tokenRestart" | "stallDetection" | "tokenLifetime"): boolean {
  return isActive(object) && object.spec[block] !== undefined && unknownValues(object.spec, block).length === 0;
}

function isActive({ spec: { mode, suspend }, metadata }: ControllerResilience): boolean {
  return mode === "Enforce" && !suspend && metadata.deletionTimestamp === undefined;
}

function isTargetOf(view: Workload, { spec }: ControllerResilience): boolean {
  return spec.targets.some(target => isTarget(view, target));
}

function isTarget({ kind, name, labels }: Workload, target: TargetSelector): boolean {
  if (target.kind !== kind) return false;
  if (target.name !== undefined) return target.name === name;
  return target.selector !== undefined && matchesSelector(labels, target.selector);
}

function isChanging(view: Workload, object: ControllerResilience): boolean {
  return stageOf(view, object) === 2;
}

/** 2: the object is changing the DaemonSet; 1: it has changed it; 0: neither. */
function stageOf(view: Workload, object: ControllerResilience): number {
  const entry = entryIn(object, view);
  if (entry === undefined) return 0;
  if (isRolledOut(entry)) return 2;
  return entry.outcome === "Reverted" || entry.appliedTime !== undefined ? 1 : 0;
}

function entryIn({ status }: ControllerResilience, { kind, name, uid }: Workload): DaemonSetStatus | undefined {
  if (kind !== "DaemonSet") return undefined;
  return status?.daemonSets?.find(entry => entry.name === name && (entry.uid ?? uid) === uid);
}

function createdMs({ metadata }: ControllerResilience): number {
  return Date.parse(metadata.creationTimestamp) || 0;
}

function nameOf({ metadata }: ControllerResilience): string {
  return metadata.name;
}
