import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience, OwnerReference } from "../../api/controller-resilience";
import { CLUSTER_KIND, GENERATED_FOR_LABEL, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import { workloadName } from "../../core/cluster-wide";
import { apiVersionOf, KINDS } from "../../core/kinds";

// The ControllerResiliences that the operator generates for a ClusterControllerResilience.

/** Most targets of one object: spec.targets takes no more. A namespace with more workloads gets several objects. */
export const MAX_TARGETS = 32;

/** Where the objects of a namespace go. */
export interface Place {
  readonly owner: ClusterControllerResilience;
  readonly mode: "Enforce" | "Observe";
  /** Names of all objects of the namespace. */
  readonly taken: ReadonlySet<string>;
}

/** One object as it has to be. */
export interface Wanted {
  /** The object to change; absent: it has to be created. */
  readonly found?: ControllerResilience;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ownerReference: OwnerReference;
  readonly spec: ControllerResilience["spec"];
}

/** Reports whether the operator generated an object for some ClusterControllerResilience. All others are hand-written. */
export function isGenerated({ metadata }: Pick<ControllerResilience, "metadata">): boolean {
  return (metadata.ownerReferences ?? []).some(({ kind }) => kind === CLUSTER_KIND);
}

/**
 * Reports whether the operator generated an object for this ClusterControllerResilience. One that has lost its owner, as by a deletion with
 * `--cascade=orphan`, belongs to the ClusterControllerResilience that its label names.
 */
export function isGeneratedFor(
  object: Pick<ControllerResilience, "metadata">,
  owner: Pick<ClusterControllerResilience, "metadata">,
): boolean {
  const { labels = {}, ownerReferences = [] } = object.metadata;
  if (isGenerated(object)) return ownerReferences.some(({ uid }) => uid === owner.metadata.uid);
  return labels[GENERATED_FOR_LABEL] === owner.metadata.name;
}

/** Reports whether an object is being deleted: from then on it only cleans up, and protects nothing, however long a finalizer holds it. */
export function isBeingDeleted({ metadata }: Pick<ControllerResilience, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Returns the workloads that a generated object lists, as {@link workloadName} writes them: all its targets have names. */
export function listedIn({ spec }: Pick<ControllerResilience, "spec">): string[] {
  return spec.targets.map(({ kind, name = "" }) => workloadName({ kind, name }));
}

/**
 * Distributes workloads over objects. A workload stays in the object that lists it, so that its restarts and budgets, which
 * that object's status holds, stay with it; others go where there is room.
 *
 * @param workloads as `Deployment/web`
 * @param found the generated objects of this owner, in the namespace, that are not being deleted
 */
export function distribute(
  { owner, mode, taken }: Place,
  workloads: readonly string[],
  found: readonly ControllerResilience[],
): Wanted[] {
  const waiting = new Set(workloads);
  const kept = byName(found).map(object => {
    const listed = listedIn(object).filter(workload => waiting.delete(workload));
    return { found: object, name: object.metadata.name, workloads: listed };
  });
  const parts: { found?: ControllerResilience; name: string; workloads: string[] }[] = kept;
  const names = new Set(taken);
  for (const workload of [...waiting].sort()) {
    let part = parts.find(one => one.workloads.length < MAX_TARGETS);
    if (part === undefined) parts.push((part = { name: freeName(owner, names), workloads: [] }));
    names.add(part.name);
    part.workloads.push(workload);
  }
  const shared = { labels: labelsOf(owner), ownerReference: ownerReferenceTo(owner) };
  return parts
    .filter(part => part.workloads.length > 0)
    .map(({ workloads: own, ...part }) => ({ ...part, ...shared, spec: specOf(owner, mode, own) }));
}

function specOf(
  { spec: { suspend, template } }: ClusterControllerResilience,
  mode: "Enforce" | "Observe",
  workloads: readonly string[],
): ControllerResilience["spec"] {
  const targets = workloads.map(workload => {
    const slash = workload.indexOf("/");
    return { kind: workload.slice(0, slash) as "Deployment", name: workload.slice(slash + 1) };
  });
  return { mode, suspend, targets, ...template };
}

function labelsOf({ metadata }: ClusterControllerResilience): Record<string, string> {
  return { [MANAGED_BY_LABEL]: MANAGER, [GENERATED_FOR_LABEL]: metadata.name };
}

/** Without blockOwnerDeletion, which would need the right to update finalizers of the owner. */
function ownerReferenceTo({ metadata: { name, uid } }: ClusterControllerResilience): OwnerReference {
  return { apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]), kind: CLUSTER_KIND, name, uid, controller: true };
}

/** Returns the first of `NAME`, `NAME-2`, `NAME-3` that no object has. */
function freeName({ metadata }: ClusterControllerResilience, taken: ReadonlySet<string>): string {
  let { name } = metadata;
  for (let number = 2; taken.has(name); number++) name = `${metadata.name}-${number}`;
  return name;
}

function byName(objects: readonly ControllerResilience[]): ControllerResilience[] {
  return objects.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
