import { createHash } from "node:crypto";
import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { CLUSTER_KIND, KIND } from "../../api/names";
import type { Facts } from "../../core/cluster-wide";
import { count } from "../../core/count";
import type { Intent, ObjectRef } from "../../core/intent";
import { canonical } from "../../core/json";
import { apiVersionOf, KINDS } from "../../core/kinds";
import { isBeingDeleted, listedIn, type Wanted, wantedObject } from "./generated";
import { mergePatch } from "./merge-patch";
import { modeIn } from "./selection";

/** A write that a namespace needs. */
export interface PlannedWrite {
  /** uid of the ClusterControllerResilience. */
  readonly for: string;
  readonly intent: Intent;
  /** It does more than add workloads that are only observed, so it must rest on live reads. */
  readonly needsLive: boolean;
  /** The state that it writes, in short: the same for each write that another writer undoes. Absent: a deletion. */
  readonly state?: string;
}

/** What one ClusterControllerResilience needs in a namespace. */
export interface Writes {
  readonly writes: readonly PlannedWrite[];
  /** Generated objects that stay, or keep a block, only because the operator does not act. */
  readonly held: number;
}

/**
 * Returns the writes that one ClusterControllerResilience needs in a namespace.
 *
 * To delete an object, or one of its blocks, restores what a remedy has changed. Where the operator does not act, such an object stays and
 * is set to Observe, so that it does not act on an old spec once the operator acts again.
 */
export function writesFor(
  owner: ClusterControllerResilience,
  { namespace, objects, observes }: Facts,
  selected: readonly string[],
  found: readonly ControllerResilience[],
): Writes {
  // Nothing can be created there, and what is there goes with the namespace.
  if (namespace.isTerminating) return { writes: [], held: 0 };
  const taken = new Set(objects.map(({ metadata }) => metadata.name));
  const present = found.filter(object => !isBeingDeleted(object));
  const mode = modeIn(namespace, owner.spec);
  const wanted = selected.length === 0 ? undefined : wantedObject({ owner, mode }, selected, present, taken);
  const superfluous = present.filter(object => object !== wanted?.found);
  const isHeld = observes === true || namespace.skip;
  const holds = isHeld && wanted !== undefined && hasFewerBlocks(wanted);
  return {
    writes: [
      ...(wanted === undefined ? [] : writeOf(owner, namespace.name, holds ? holding(wanted) : wanted)),
      ...superfluous.flatMap(object => (isHeld ? hold(owner, object) : [deletion(owner, object)])),
    ],
    held: Number(holds) + (isHeld ? superfluous.length : 0),
  };
}

function hasFewerBlocks({ found, spec }: Wanted): boolean {
  return Object.keys(found?.spec ?? {}).some(key => !(key in spec));
}

function holding(wanted: Wanted): Wanted {
  return { ...wanted, spec: { ...wanted.found?.spec, ...wanted.spec, mode: "Observe" } };
}

function writeOf(owner: ClusterControllerResilience, namespace: string, wanted: Wanted): PlannedWrite[] {
  return wanted.found === undefined ? [creation(owner, namespace, wanted)] : correction(owner, wanted.found, wanted);
}

function creation(owner: ClusterControllerResilience, namespace: string, wanted: Wanted): PlannedWrite {
  const { name, labels, ownerReference, spec } = wanted;
  const body = { metadata: { labels, ownerReferences: [ownerReference] }, spec };
  const why = `${nameOf(owner)} selects ${count(spec.targets.length, "workload")} of this namespace`;
  const target = refTo(namespace, name);
  const intent: Intent = { verb: "create", target, body, why, eventReason: "Generated" };
  const needsLive = spec.mode === "Enforce" && !spec.suspend;
  return { for: owner.metadata.uid, intent, needsLive, state: stateOf(owner, namespace, wanted) };
}

function correction(owner: ClusterControllerResilience, found: ControllerResilience, wanted: Wanted): PlannedWrite[] {
  const { labels, ownerReference, spec } = wanted;
  const { namespace, name } = found.metadata;
  const { labels: present = {}, ownerReferences: owners = [] } = found.metadata;
  const isOwned = owners.some(({ uid }) => uid === owner.metadata.uid);
  const ownerReferences = isOwned ? owners : [...owners, ownerReference];
  const patch = mergePatch(
    { metadata: { labels: present, ownerReferences: owners }, spec: found.spec },
    { metadata: { labels: { ...present, ...labels }, ownerReferences }, spec },
  );
  if (patch === undefined) return [];
  const targets = listedIn({ spec });
  const isLonger = listedIn(found).every(workload => targets.includes(workload));
  const isOnlyMore = isLonger && Object.keys((patch["spec"] as object | undefined) ?? {}).join() === "targets";
  const why = `${nameOf(owner)} ${isOnlyMore ? "selects more workloads" : "asks for another spec"}`;
  const target = refTo(namespace, name, found);
  const intent: Intent = { verb: "patch", target, body: patch, why, eventReason: "Corrected" };
  const needsLive = !(isOnlyMore && spec.mode === "Observe");
  return [{ for: owner.metadata.uid, intent, needsLive, state: stateOf(owner, namespace, wanted) }];
}

function deletion(owner: ClusterControllerResilience, found: ControllerResilience): PlannedWrite {
  const { namespace, name } = found.metadata;
  const why = `${nameOf(owner)} selects no workload of it any more`;
  const intent: Intent = { verb: "delete", target: refTo(namespace, name, found), why, eventReason: "Pruned" };
  return { for: owner.metadata.uid, intent, needsLive: true };
}

/** Sets an object to Observe that would be deleted if the operator acted. */
function hold(owner: ClusterControllerResilience, found: ControllerResilience): PlannedWrite[] {
  if (found.spec.mode === "Observe") return [];
  const { namespace, name } = found.metadata;
  const why = `${nameOf(owner)} selects no workload of it any more; it is deleted once the operator acts again`;
  const target = refTo(namespace, name, found);
  const intent: Intent = { verb: "patch", target, body: { spec: { mode: "Observe" } }, why, eventReason: "Corrected" };
  const state = stateOf(owner, namespace, { labels: {}, spec: { ...found.spec, mode: "Observe" } });
  return [{ for: owner.metadata.uid, intent, needsLive: true, state }];
}

/** Without the name: an object that is deleted and does not go has a successor with another one. */
function stateOf(
  { metadata: { uid, generation } }: ClusterControllerResilience,
  namespace: string,
  { labels, spec }: Pick<Wanted, "labels" | "spec">,
): string {
  return createHash("sha256")
    .update(canonical([uid, generation, namespace, labels, spec]))
    .digest("base64");
}

function nameOf({ metadata }: ClusterControllerResilience): string {
  return `${CLUSTER_KIND}/${metadata.name}`;
}

function refTo(namespace: string, name: string, found?: ControllerResilience): ObjectRef {
  const identity = found && { uid: found.metadata.uid, resourceVersion: found.metadata.resourceVersion };
  return { apiVersion: apiVersionOf(KINDS[KIND]), kind: KIND, namespace, name, ...identity };
}
