import type { ControllerResilience, DaemonSetStatus, TargetSelector } from "../../api/controller-resilience";
import type { Readers } from "../../core/readers";
import type { DaemonSetView } from "../../core/views";
import { matchesSelector } from "../../core/label-selector";
import { waitingFor } from "./checks/shared";
import type { DaemonSetFinding } from "./finding";
import { isOurRollout } from "./observed";
import type { Subject } from "./subject";

// Two objects that change one DaemonSet would revert each other's changes and end each other's trials, so only one does.

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

/** The name of the other object that has the DaemonSet: the one that began to change it, of two such the older one. Pure. */
export function holderOf(
  view: DaemonSetView,
  object: ControllerResilience,
  others: readonly ControllerResilience[],
): string | undefined {
  const claims = others.filter(other => isClaim(view, other));
  const [first] = [object, ...claims].toSorted(
    (a, b) => stageOf(view, b) - stageOf(view, a) || createdMs(a) - createdMs(b) || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
  return first === undefined || first === object ? undefined : nameOf(first);
}

/** The object changes the DaemonSet, or would. Of one that is no target any more it only ends the trial. */
function isClaim(view: DaemonSetView, object: ControllerResilience): boolean {
  const { mode, suspend, targets, tokenLifetime } = object.spec;
  const entry = entryIn(object, view);
  if (entry?.outcome === "Trial") return true;
  if (tokenLifetime === undefined || !targets.some(target => isTarget(view, target))) return false;
  if (isOpen(entry)) return true;
  const isActive = mode === "Enforce" && !suspend && object.metadata.deletionTimestamp === undefined;
  return isActive || stageOf(view, object) > 0;
}

function isTarget({ name, labels }: DaemonSetView, target: TargetSelector): boolean {
  if (target.kind !== "DaemonSet") return false;
  if (target.name !== undefined) return target.name === name;
  return target.selector !== undefined && matchesSelector(labels, target.selector);
}

/** 2: the object is changing the DaemonSet; 1: it has changed it; 0: neither. */
function stageOf(view: DaemonSetView, object: ControllerResilience): number {
  const entry = entryIn(object, view);
  if (entry === undefined) return 0;
  if (isOpen(entry)) return 2;
  const { outcome, appliedTime, changes = 0 } = entry;
  return outcome === "Reverted" || appliedTime !== undefined || changes > 0 ? 1 : 0;
}

/** A planned change may not be made yet. */
function isOpen(entry: DaemonSetStatus | undefined): boolean {
  return entry?.outcome === "Reverting" || (isOurRollout(entry) && entry?.outcome !== "Planned");
}

function entryIn({ status }: ControllerResilience, { name, uid }: DaemonSetView): DaemonSetStatus | undefined {
  return status?.daemonSets?.find(entry => entry.name === name && (entry.uid ?? uid) === uid);
}

function createdMs({ metadata }: ControllerResilience): number {
  return Date.parse(metadata.creationTimestamp) || 0;
}

function nameOf({ metadata }: ControllerResilience): string {
  return metadata.name;
}

/** Another object has the DaemonSet. Stalled after an hour, as every wait. */
export function heldByOther(subject: Subject): DaemonSetFinding | undefined {
  const { holder } = subject.daemonSet;
  if (holder === undefined) return undefined;
  return waitingFor(
    subject,
    `another ControllerResilience, ${holder}, has this DaemonSet; remove it from the targets of one of them`,
  );
}
