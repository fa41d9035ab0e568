import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience, OwnerReference } from "../../api/controller-resilience";
import { CLUSTER_KIND, GENERATED_FOR_LABEL, KIND, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import type { Facts } from "./facts";
import { count, workloadId } from "../../core/text";
import type { Intent, ObjectRef } from "../../core/intent";
import { canonical, covers, isObject } from "../../core/json";
import { apiVersionOf, KINDS } from "../../core/kinds";
import { modeIn } from "./selection";

// The ControllerResiliences that the operator generates for a ClusterControllerResilience.

/** Most targets of one object: spec.targets takes no more. Further workloads of a namespace stay unprotected, and status says so. */
export const MAX_TARGETS = 1_024;

/** The object of a namespace as it has to be. */
interface Wanted {
  /** The object to change; absent: it has to be created. */
  readonly found?: ControllerResilience;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: ControllerResilience["spec"];
}

/**
 * Returns the name of the ClusterControllerResilience that the operator generated an object for; undefined for a hand-written one. A copy under
 * another name is hand-written, too, although it has the owner and the label.
 */
export function generatedFor({ metadata }: Pick<ControllerResilience, "metadata">): string | undefined {
  const owners = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === CLUSTER_KIND);
  return owners.find(owner => isNameFor(owner.name, metadata))?.name;
}

/** Reports whether the operator generated an object for some ClusterControllerResilience. */
export function isGenerated(object: Pick<ControllerResilience, "metadata">): boolean {
  return generatedFor(object) !== undefined;
}

/** As {@link freeName} names objects: `default`, `default-2`; not `default-debug`, as a person names a copy. */
function isNameFor(owner: string, { name }: ControllerResilience["metadata"]): boolean {
  return name === owner || (name.startsWith(`${owner}-`) && /^[1-9]\d*$/.test(name.slice(owner.length + 1)));
}

/** Reports whether the operator generated an object for this ClusterControllerResilience. */
export function isGeneratedFor(
  object: Pick<ControllerResilience, "metadata">,
  { metadata: { uid } }: Pick<ClusterControllerResilience, "metadata">,
): boolean {
  return isGenerated(object) && object.metadata.ownerReferences?.some(owner => owner.uid === uid) === true;
}

/** Reports whether an object is being deleted: from then on it only cleans up, and protects nothing, however long a finalizer holds it. */
export function isBeingDeleted({ metadata }: Pick<ControllerResilience, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Returns the workloads that a generated object lists, as {@link workloadId} writes them: all its targets have names. */
export function listedIn({ spec }: Pick<ControllerResilience, "spec">): string[] {
  return spec.targets.map(({ kind, name = "" }) => workloadId({ kind, name }));
}

/**
 * Returns the object that lists these workloads: of those that are there the first by name, changed, or else a new one. A workload that is
 * listed already keeps its place.
 *
 * @param workloads as `Deployment/web`, at least one
 * @param found the generated objects of this owner, in the namespace, that are not being deleted
 * @param taken names of all objects of the namespace
 */
function wantedObject(
  { owner, mode }: { readonly owner: ClusterControllerResilience; readonly mode: "Enforce" | "Observe" },
  workloads: readonly string[],
  found: readonly ControllerResilience[],
  taken: ReadonlySet<string>,
): Wanted {
  const [kept] = found.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const others = new Set(workloads);
  const listed = (kept === undefined ? [] : listedIn(kept)).filter(workload => others.delete(workload));
  return {
    ...(kept && { found: kept }),
    name: kept?.metadata.name ?? freeName(owner, taken),
    labels: { [MANAGED_BY_LABEL]: MANAGER, [GENERATED_FOR_LABEL]: owner.metadata.name },
    spec: specOf(owner, mode, [...listed, ...[...others].toSorted()].slice(0, MAX_TARGETS)),
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

/** A write that a namespace needs. */
export interface PlannedWrite {
  /** uid of the ClusterControllerResilience. */
  readonly for: string;
  readonly intent: Intent;
  /** The spec that the object has then. Absent: a deletion. */
  readonly spec?: ControllerResilience["spec"];
}

/**
 * Returns the writes that one ClusterControllerResilience needs in a namespace.
 *
 * To delete an object, or one of its blocks, restores what a remedy has changed. Where the operator does not act, such an object stays and
 * is set to Observe, so that it does not act on an old spec once the operator acts again.
 */
export function writesFor(
  owner: ClusterControllerResilience,
  facts: Facts,
  selected: readonly string[],
  found: readonly ControllerResilience[],
): PlannedWrite[] {
  const { namespace, objects } = facts;
  // Nothing can be created there, and what is there goes with the namespace.
  if (namespace.isTerminating) return [];
  const taken = new Set(objects.map(({ metadata }) => metadata.name));
  const present = found.filter(object => !isBeingDeleted(object));
  const mode = modeIn(namespace, owner.spec);
  const wanted = selected.length === 0 ? undefined : wantedObject({ owner, mode }, selected, present, taken);
  const superfluous = present.filter(object => object !== wanted?.found);
  return [
    ...(wanted === undefined ? [] : writeOf(owner, facts, isHeld(facts) ? held(wanted) : wanted)),
    ...superfluous.flatMap(object => (isHeld(facts, owner) ? hold(owner, object) : [deletion(owner, object)])),
  ];
}

/** Reports whether the operator does not act in a namespace, or not for that owner. */
export function isHeld(
  { namespace, observes }: Pick<Facts, "namespace" | "observes">,
  owner?: ClusterControllerResilience,
): boolean {
  return observes === true || namespace.skip || owner?.spec.suspend === true;
}

/** The object with the blocks that it would lose, in Observe if there are any. */
function held(wanted: Wanted): Wanted {
  const { found, spec } = wanted;
  const losesBlock = Object.keys(found?.spec ?? {}).some(key => !(key in spec));
  return losesBlock ? { ...wanted, spec: { ...found?.spec, ...spec, mode: "Observe" } } : wanted;
}

function writeOf(owner: ClusterControllerResilience, { namespace, stored }: Facts, wanted: Wanted): PlannedWrite[] {
  const { found } = wanted;
  if (found === undefined) return [creation(owner, namespace.name, wanted)];
  const state = stateOf(owner, namespace.name, wanted);
  // What the API server adds, such as a default of a newer definition, is no difference. A change or a loss is: a webhook is another writer.
  const last = stored?.get(owner.metadata.uid);
  const isStored = last?.state === state && isDeepStrictEqual(last.spec, found.spec);
  const spec = isStored && covers(found.spec, wanted.spec) ? found.spec : wanted.spec;
  return correction(owner, { ...wanted, found, spec }, state);
}

function creation(owner: ClusterControllerResilience, namespace: string, wanted: Wanted): PlannedWrite {
  const { name, labels, spec } = wanted;
  const body = { metadata: { labels, ownerReferences: [ownerReferenceTo(owner)] }, spec };
  const why = `${nameOf(owner)} selects ${count(spec.targets.length, "workload")} of this namespace`;
  const leadsTo = { of: owner.metadata.uid, state: stateOf(owner, namespace, wanted) };
  const target = refTo(namespace, name);
  return {
    ...{ for: owner.metadata.uid, spec },
    intent: { verb: "create", target, body, leadsTo, why, eventReason: "Generated" },
  };
}

function correction(
  owner: ClusterControllerResilience,
  { found, labels, spec }: Wanted & Required<Pick<Wanted, "found">>,
  state: string,
  reason?: string,
): PlannedWrite[] {
  const { namespace, name, labels: present = {} } = found.metadata;
  const patch = mergePatch(
    { metadata: { labels: present }, spec: found.spec },
    { metadata: { labels: { ...present, ...labels } }, spec },
  );
  if (patch === undefined) return [];
  const isOfTargets = Object.keys((patch["spec"] as object | undefined) ?? {}).join() === "targets";
  const why = `${nameOf(owner)} ${reason ?? (isOfTargets ? "selects other workloads" : "asks for another spec")}`;
  const target = refTo(namespace, name, found);
  const leadsTo = { of: owner.metadata.uid, state };
  const intent: Intent = { verb: "patch", target, body: patch, leadsTo, why, eventReason: "Corrected" };
  return [{ for: owner.metadata.uid, intent, spec }];
}

function deletion(owner: ClusterControllerResilience, found: ControllerResilience): PlannedWrite {
  const { namespace, name } = found.metadata;
  const why = `${nameOf(owner)} selects no workload of it any more`;
  const intent: Intent = { verb: "delete", target: refTo(namespace, name, found), why, eventReason: "Pruned" };
  return { for: owner.metadata.uid, intent };
}

/** Sets an object to Observe that would be deleted if the operator acted. */
function hold(owner: ClusterControllerResilience, found: ControllerResilience): PlannedWrite[] {
  const { namespace, name } = found.metadata;
  const spec = { ...found.spec, mode: "Observe", suspend: owner.spec.suspend } as const;
  const wanted = { found, name, labels: {}, spec };
  const why = "selects no workload of it any more; it is deleted once the operator acts again";
  return correction(owner, wanted, stateOf(owner, namespace, wanted), why);
}

/** Without the name: an object that is deleted and does not go has a successor with another one. */
function stateOf(
  { metadata: { uid, generation } }: ClusterControllerResilience,
  namespace: string,
  { labels, spec }: Pick<Wanted, "labels" | "spec">,
): string {
  return hash("sha256", canonical([uid, generation, namespace, labels, spec]), "base64");
}

function nameOf({ metadata }: ClusterControllerResilience): string {
  return `${CLUSTER_KIND}/${metadata.name}`;
}

function refTo(namespace: string, name: string, found?: ControllerResilience): ObjectRef {
  const identity = found && { uid: found.metadata.uid, resourceVersion: found.metadata.resourceVersion };
  return { apiVersion: apiVersionOf(KINDS[KIND]), kind: KIND, namespace, name, ...identity };
}

/**
 * Returns the JSON merge patch (RFC 7396) that makes `after` of `before`; undefined if they are the same. A null is equal to an absent field:
 * a patch cannot write one.
 */
function mergePatch(before: object, after: object): Record<string, unknown> | undefined {
  const [old, wanted] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys({ ...old, ...wanted })) {
    const [was, value] = [old[key] ?? null, wanted[key] ?? null];
    if (isDeepStrictEqual(was, value)) continue;
    const change = isObject(was) && isObject(value) ? mergePatch(was, value) : value;
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
