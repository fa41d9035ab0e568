import type { ControllerResilience, DaemonSetStatus, TargetSelector } from "../../api/controller-resilience";
import { matchesSelector, type WorkloadView } from "../../core/views";
import type { ObjectInMode } from "../../core/remedy";
import type { Readers } from "../../core/readers";

// Two objects that act on one workload would not count each other's restarts, revert each other's changes and end each other's trials. So of
// several objects that take pods of a workload down, only the oldest acts.

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
 * The name of the other object that acts on the workload: the one that began to change a DaemonSet's template, else the oldest. Undefined: this
 * object acts. Pure.
 */
export function holderOf(
  view: Workload,
  object: ControllerResilience,
  others: readonly ControllerResilience[],
): string | undefined {
  const claims = others.filter(other => isClaim(view, other));
  const [first] = [object, ...claims].toSorted(
    (a, b) => stageOf(view, b) - stageOf(view, a) || createdMs(a) - createdMs(b) || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
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
export function describeHolder(holder: string): string {
  return `ControllerResilience ${holder}, which is older, acts on its pods, and this one does not; remove the workload from the targets of one of them`;
}

/** The object acts on the workload, or would. Of a DaemonSet that is no target any more it only ends the trial. */
function isClaim(view: Workload, object: ControllerResilience): boolean {
  const { targets, tokenLifetime, tokenRestart, stallDetection } = object.spec;
  if (entryIn(object, view)?.outcome === "Trial") return true;
  if (!targets.some(target => isTarget(view, target))) return false;
  if (tokenLifetime !== undefined && view.kind === "DaemonSet") return isActive(object) || stageOf(view, object) > 0;
  return isActive(object) && (tokenRestart !== undefined || stallDetection?.onStall === "Restart");
}

function isActive({ spec: { mode, suspend }, metadata }: ControllerResilience): boolean {
  return mode === "Enforce" && !suspend && metadata.deletionTimestamp === undefined;
}

function isTarget({ kind, name, labels }: Workload, target: TargetSelector): boolean {
  if (target.kind !== kind) return false;
  if (target.name !== undefined) return target.name === name;
  return target.selector !== undefined && matchesSelector(labels, target.selector);
}

/** Outcomes of status.daemonSets while the object changes the template, or takes the change back. A planned change may not be made yet. */
const CHANGING: readonly DaemonSetStatus["outcome"][] = ["Trial", "Rolling", "Stuck", "Reverting"];

/** 2: the object is changing the DaemonSet; 1: it has changed it; 0: neither. */
function stageOf(view: Workload, object: ControllerResilience): number {
  const entry = entryIn(object, view);
  if (entry === undefined) return 0;
  if (CHANGING.includes(entry.outcome)) return 2;
  const { outcome, appliedTime, changes = 0 } = entry;
  return outcome === "Reverted" || appliedTime !== undefined || changes > 0 ? 1 : 0;
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
