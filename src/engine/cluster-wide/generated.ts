import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { CLUSTER_KIND, GENERATED_FOR_LABEL, KIND, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import type { Facts } from "./facts";
import { count, workloadId } from "../../core/text";
import type { Intent, ObjectRef } from "../../core/intent";
import { canonical, covers, isObject, objectOf } from "../../core/json";
import { apiVersionOf, KINDS } from "../../core/kinds";
import { modeIn } from "./selection";

// The ControllerResiliences that the operator generates for a ClusterControllerResilience.

/** Most targets of one object: spec.targets takes no more. Further workloads of a namespace stay unprotected, and status says so. */
export const MAX_TARGETS = 1_024;

/**
 * Returns the name of the ClusterControllerResilience that the operator generated an object for; undefined for a hand-written one. A copy under
 * another name is hand-written, too, although it has the owner and the label; and so is one with an owner of another apiVersion, which an author can
 * name at will: the garbage collector, which removes objects of owners that do not exist, does not know it.
 */
export function generatedFor({ metadata }: Pick<ControllerResilience, "metadata">): string | undefined {
  const apiVersion = apiVersionOf(KINDS[CLUSTER_KIND]);
  const owners = (metadata.ownerReferences ?? []).filter(
    one => one.kind === CLUSTER_KIND && one.apiVersion === apiVersion,
  );
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

/** A write that a namespace needs. */
export interface PlannedWrite {
  /** uid of the ClusterControllerResilience. */
  readonly for: string;
  readonly intent: Intent;
  /** The spec that the object has then. Absent: a deletion. */
  readonly spec?: Spec;
}

type Spec = ControllerResilience["spec"];

/**
 * Returns the writes that one ClusterControllerResilience needs in a namespace: the first of its objects by name, or else a new one, lists
 * the workloads, and further ones go.
 *
 * To delete an object, or one of its blocks, restores what a remedy has changed. Where the operator does not act, such an object stays and
 * is set to Observe, so that it does not act on an old spec once the operator acts again.
 *
 * @param workloads to be listed, as `Deployment/web`
 * @param found the generated objects of this owner, in the namespace
 */
export function writesFor(
  owner: ClusterControllerResilience,
  facts: Facts,
  workloads: readonly string[],
  found: readonly ControllerResilience[],
): PlannedWrite[] {
  // Nothing can be created there, and what is there goes with the namespace.
  if (facts.namespace.deletedAtMs !== undefined) return [];
  const present = found.filter(object => !isBeingDeleted(object));
  const byName = present.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const first = workloads.length === 0 ? undefined : byName.shift();
  const writes = byName.flatMap(object =>
    isHeld(facts, owner) ? hold(owner, facts, object) : [deletion(owner, object)],
  );
  if (workloads.length === 0) return writes;
  const spec = specOf(owner, facts, workloads, first);
  return [...(first ? correction(owner, facts, first, spec) : [creation(owner, facts, spec)]), ...writes];
}

/** Reports whether the operator does not act in a namespace, or not for that owner. */
export function isHeld(
  { namespace, observes }: Pick<Facts, "namespace" | "observes">,
  owner?: ClusterControllerResilience,
): boolean {
  return observes === true || namespace.skip || owner?.spec.suspend === true;
}

/** A workload that is listed already keeps its place. @param found the object that lists them; absent: a new one will */
function specOf(
  { spec: { suspend, template, ...owner } }: ClusterControllerResilience,
  facts: Facts,
  workloads: readonly string[],
  found?: ControllerResilience,
): Spec {
  const others = new Set(workloads);
  const listed = (found === undefined ? [] : listedIn(found)).filter(workload => others.delete(workload));
  const targets = [...listed, ...[...others].toSorted()].slice(0, MAX_TARGETS).map(workload => {
    const slash = workload.indexOf("/");
    return { kind: workload.slice(0, slash) as "Deployment", name: workload.slice(slash + 1) };
  });
  const spec = { mode: modeIn(facts.namespace, owner), suspend, targets, ...template };
  const losesBlock = Object.keys(found?.spec ?? {}).some(key => !(key in spec));
  return losesBlock && isHeld(facts) ? { ...found?.spec, ...spec, mode: "Observe" } : spec;
}

function creation(owner: ClusterControllerResilience, { namespace, objects }: Facts, spec: Spec): PlannedWrite {
  const { name, uid } = owner.metadata;
  // Without blockOwnerDeletion, which would need the right to update finalizers of the owner.
  const reference = { apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]), kind: CLUSTER_KIND, name, uid, controller: true };
  const body = { metadata: { labels: labelsFor(owner), ownerReferences: [reference] }, spec };
  const why = `${nameOf(owner)} selects ${count(spec.targets.length, "workload")} of this namespace`;
  const target = refTo(namespace.name, freeName(name, objects));
  const leadsTo = { of: uid, state: stateOf(owner, namespace.name, spec) };
  return { for: uid, spec, intent: { verb: "create", target, body, leadsTo, why, eventReason: "Generated" } };
}

function labelsFor({ metadata: { name } }: ClusterControllerResilience): Readonly<Record<string, string>> {
  return { [MANAGED_BY_LABEL]: MANAGER, [GENERATED_FOR_LABEL]: name };
}

/** Returns the first of `NAME`, `NAME-2`, `NAME-3` that no object has: one that a person wrote, or that a finalizer holds, may have the name. */
function freeName(owner: string, objects: readonly ControllerResilience[]): string {
  const taken = new Set(objects.map(({ metadata }) => metadata.name));
  let name = owner;
  for (let number = 2; taken.has(name); number++) name = `${owner}-${number}`;
  return name;
}

/** Returns what gives an object its labels and this spec, if it lacks any of them. */
function correction(
  owner: ClusterControllerResilience,
  facts: Facts,
  found: ControllerResilience,
  spec: Spec,
): PlannedWrite[] {
  const { namespace, name, labels = {} } = found.metadata;
  const state = stateOf(owner, namespace, spec);
  const body = mergePatch(
    { metadata: { labels }, spec: found.spec },
    {
      metadata: { labels: { ...labels, ...labelsFor(owner) } },
      spec: isStored(owner, facts, found, state) && covers(found.spec, spec) ? found.spec : spec,
    },
  );
  if (body === undefined) return [];
  const isOfTargets = Object.keys(objectOf(body["spec"])).join() === "targets";
  const why = `${nameOf(owner)} ${isOfTargets ? "selects other workloads" : "asks for another spec"}`;
  const target = refTo(namespace, name, found);
  const leadsTo = { of: owner.metadata.uid, state };
  const intent: Intent = { verb: "patch", target, body, leadsTo, why, eventReason: "Corrected" };
  return [{ for: owner.metadata.uid, spec, intent }];
}

/** What the API server adds, such as a default of a newer definition, is no difference. A change or a loss is: a webhook is another writer. */
function isStored(
  { metadata: { uid } }: ClusterControllerResilience,
  { stored }: Facts,
  { spec }: ControllerResilience,
  state: string,
): boolean {
  const last = stored?.get(uid);
  return last?.state === state && isDeepStrictEqual(last.spec, spec);
}

function deletion(owner: ClusterControllerResilience, found: ControllerResilience): PlannedWrite {
  const { namespace, name } = found.metadata;
  const why = `${nameOf(owner)} selects no workload of it any more`;
  const intent: Intent = { verb: "delete", target: refTo(namespace, name, found), why, eventReason: "Pruned" };
  return { for: owner.metadata.uid, intent };
}

/** Sets an object to Observe that would be deleted if the operator acted. */
function hold(owner: ClusterControllerResilience, facts: Facts, found: ControllerResilience): PlannedWrite[] {
  const why = `${nameOf(owner)} selects no workload of it any more; it is deleted once the operator acts again`;
  const spec = { ...found.spec, mode: "Observe", suspend: owner.spec.suspend } as const;
  return correction(owner, facts, found, spec).map(({ intent, ...write }) => ({
    ...write,
    intent: { ...intent, why },
  }));
}

/** Without the name: an object that is deleted and does not go has a successor with another one. */
function stateOf(
  { metadata: { uid, generation } }: ClusterControllerResilience,
  namespace: string,
  spec: Spec,
): string {
  return hash("sha256", canonical([uid, generation, namespace, spec]), "base64");
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
