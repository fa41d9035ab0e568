import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience, OwnerReference } from "../../api/controller-resilience";
import { CLUSTER_KIND, GENERATED_FOR_LABEL, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import { workloadName } from "../../core/cluster-wide";
import { apiVersionOf, KINDS } from "../../core/kinds";

// The ControllerResiliences that the operator generates for a ClusterControllerResilience.

/** Most targets of one object: spec.targets takes no more. Further workloads of a namespace stay unprotected, and status says so. */
export const MAX_TARGETS = 1_024;

/** The object of a namespace as it has to be. */
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
 * Returns the object that lists these workloads: of those that are there the first by name, changed, or else a new one. A workload that is
 * listed already keeps its place.
 *
 * @param workloads as `Deployment/web`, at least one
 * @param found the generated objects of this owner, in the namespace, that are not being deleted
 * @param taken names of all objects of the namespace
 */
export function wantedObject(
  { owner, mode }: { readonly owner: ClusterControllerResilience; readonly mode: "Enforce" | "Observe" },
  workloads: readonly string[],
  found: readonly ControllerResilience[],
  taken: ReadonlySet<string>,
): Wanted {
  const [kept] = found.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const listed = (kept === undefined ? [] : listedIn(kept)).filter(workload => workloads.includes(workload));
  const others = workloads.filter(workload => !listed.includes(workload)).toSorted();
  return {
    ...(kept && { found: kept }),
    name: kept?.metadata.name ?? freeName(owner, taken),
    labels: { [MANAGED_BY_LABEL]: MANAGER, [GENERATED_FOR_LABEL]: owner.metadata.name },
    ownerReference: ownerReferenceTo(owner),
    spec: specOf(owner, mode, [...listed, ...others].slice(0, MAX_TARGETS)),
  };
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

/** Without blockOwnerDeletion, which would need the right to update finalizers of the owner. */
function ownerReferenceTo({ metadata: { name, uid } }: ClusterControllerResilience): OwnerReference {
  return { apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]), kind: CLUSTER_KIND, name, uid, controller: true };
}

/** Returns the first of `NAME`, `NAME-2`, `NAME-3` that no object has: one that a person wrote, or that a finalizer holds, may have the name. */
function freeName({ metadata }: ClusterControllerResilience, taken: ReadonlySet<string>): string {
  let { name } = metadata;
  for (let number = 2; taken.has(name); number++) name = `${metadata.name}-${number}`;
  return name;
}
