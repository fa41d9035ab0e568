import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { CLUSTER_KIND, KIND, PRESET_LABEL } from "../../api/names";
import type { Intent, ObjectRef } from "../../core/intent";
import { apiVersionOf, KINDS } from "../../core/kinds";
import { type Candidate, type Facts, workloadName } from "../../core/cluster-wide";
import { distribute, type Group, isGenerated, isGeneratedFor, listedIn, type Wanted } from "./generated";
import { mergePatch } from "./merge-patch";
import { withNamedPreset, withPreset } from "./presets/presets";
import { type Exclusion, modeIn, namespaceExclusion, workloadExclusion, workloadsOf } from "./selection";

/** What one ClusterControllerResilience finds in one namespace. */
export interface NamespaceShare {
  /** Why the namespace is not selected; null if it is. */
  readonly exclusion: Exclusion | null;
  /** Generation of the ClusterControllerResilience that was planned for. */
  readonly generation: number;
  /** The generated objects are as they have to be. */
  readonly isSettled: boolean;
  /** Workloads that it selects, and that no other object protects; as `Deployment/web`. */
  readonly selected: ReadonlySet<string>;
  /** Those of them that a generated object lists already. */
  readonly protected: number;
  /** Workloads that it does not select, by reason. */
  readonly excluded: ReadonlyMap<Exclusion, number>;
  /** Workloads that it selects as well as an older one, by the name of that one. */
  readonly overlaps: ReadonlyMap<string, readonly string[]>;
  /** The generated objects. */
  readonly objects: readonly ControllerResilience[];
}

/** A write that a namespace needs. */
export interface PlannedWrite {
  /** uid of the ClusterControllerResilience. */
  readonly for: string;
  readonly intent: Intent;
  /** It does more than add workloads that are only observed, so it must rest on live reads. */
  readonly needsLive: boolean;
}

/** What is to be done in a namespace. */
export interface NamespacePlan {
  readonly writes: readonly PlannedWrite[];
  /** By uid of the ClusterControllerResilience. */
  readonly shares: ReadonlyMap<string, NamespaceShare>;
}

/** Decides which objects a namespace needs. Pure. */
export function planNamespace(facts: Facts): NamespacePlan {
  const writes: PlannedWrite[] = [];
  const shares = new Map<string, NamespaceShare>();
  const claimed = new Map<string, string>();
  const isOurs = (object: ControllerResilience): boolean =>
    isGenerated(object) || facts.clusterObjects.some(owner => isGeneratedFor(object, owner));
  for (const object of facts.objects.filter(object => !isOurs(object)))
    for (const workload of workloadsOf(object, facts.candidates)) claimed.set(workload, HAND_WRITTEN);
  for (const owner of facts.clusterObjects) {
    const found = facts.objects.filter(object => isGeneratedFor(object, owner));
    const choice = choose(owner, facts, found, claimed);
    for (const { workload } of choice.selected) claimed.set(workload, owner.metadata.name);
    const needed = writesFor(owner, facts, choice.selected, found);
    writes.push(...needed);
    const { generation, uid } = owner.metadata;
    shares.set(uid, { ...shareOf(choice, found), generation, isSettled: needed.length === 0 });
  }
  return { writes, shares };
}

/** Stands for any hand-written object among the names of ClusterControllerResiliences, which are not empty. */
const HAND_WRITTEN = "";

interface Selected {
  readonly workload: string;
  /** Absent: it has gone a moment ago, and stays in the object that lists it. */
  readonly candidate?: Candidate;
}

interface Choice {
  readonly exclusion: Exclusion | null;
  readonly selected: readonly Selected[];
  readonly excluded: ReadonlyMap<Exclusion, number>;
  readonly overlaps: ReadonlyMap<string, readonly string[]>;
}

function choose(
  owner: ClusterControllerResilience,
  { namespace, candidates, ownNamespace, vanishing }: Facts,
  found: readonly ControllerResilience[],
  claimed: ReadonlyMap<string, string>,
): Choice {
  const exclusion = namespaceExclusion(namespace, owner.spec, ownNamespace);
  const targets = new Set(found.flatMap(listedIn));
  const verdicts = candidates.map(candidate => {
    const workload = workloadName(candidate);
    const why = exclusion ?? workloadExclusion(candidate, owner.spec, targets.has(workload));
    return { candidate, workload, why, other: why === null ? claimed.get(workload) : undefined };
  });
  const excluded = new Map<Exclusion, number>();
  const overlaps = new Map<string, string[]>();
  for (const { candidate, workload, why, other } of verdicts) {
    if (why !== null && candidate.usesApi) count(excluded, why);
    if (other === undefined) continue;
    count(excluded, other === HAND_WRITTEN ? "HandWritten" : "OtherClusterObject");
    if (other !== HAND_WRITTEN) overlaps.set(other, [...(overlaps.get(other) ?? []), workload]);
  }
  const selected: Selected[] = verdicts.filter(({ why, other }) => why === null && other === undefined);
  const gone = exclusion === null ? [...targets].filter(one => vanishing?.has(one) && !claimed.has(one)) : [];
  return { exclusion, selected: [...selected, ...gone.map(workload => ({ workload }))], excluded, overlaps };
}

function count(counts: Map<Exclusion, number>, reason: Exclusion): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}

function shareOf(
  { selected, ...choice }: Choice,
  found: readonly ControllerResilience[],
): Omit<NamespaceShare, "generation" | "isSettled"> {
  const objects = found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const listed = new Set(objects.flatMap(listedIn));
  const names = selected.map(({ workload }) => workload);
  return { ...choice, objects, selected: new Set(names), protected: names.filter(name => listed.has(name)).length };
}

function writesFor(
  owner: ClusterControllerResilience,
  { namespace, objects }: Facts,
  selected: Choice["selected"],
  found: readonly ControllerResilience[],
): PlannedWrite[] {
  // Nothing can be created there, and what is there goes with the namespace.
  if (namespace.isTerminating) return [];
  const taken = new Set(objects.map(({ metadata }) => metadata.name));
  const present = found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const mode = modeIn(namespace, owner.spec);
  const wanted = groupsOf(owner, selected, present).flatMap(group => {
    const ofGroup = present.filter(object => presetOf(object) === group.preset);
    const parts = distribute({ owner, mode, taken }, group, ofGroup);
    for (const { name } of parts) taken.add(name);
    return parts;
  });
  const kept = new Set(wanted.flatMap(({ found: object }) => (object === undefined ? [] : [object.metadata.uid])));
  const superfluous = present.filter(({ metadata }) => !kept.has(metadata.uid));
  return [
    ...wanted.flatMap(part => writeOf(owner, namespace.name, part)),
    ...superfluous.map(object => deletion(owner, object)),
  ];
}

function presetOf({ metadata }: ControllerResilience): string | undefined {
  return metadata.labels?.[PRESET_LABEL];
}

function groupsOf(
  owner: ClusterControllerResilience,
  selected: Choice["selected"],
  present: readonly ControllerResilience[],
): Group[] {
  const groups = new Map<string, Group & { workloads: string[] }>();
  const listing = new Map(present.flatMap(object => listedIn(object).map(workload => [workload, object])));
  for (const { workload, candidate } of selected) {
    const object = listing.get(workload);
    const { preset, template } =
      candidate === undefined
        ? withNamedPreset(owner.spec, object && presetOf(object))
        : withPreset(owner.spec, candidate);
    const key = preset ?? "";
    const group = groups.get(key) ?? { ...(preset !== undefined && { preset }), template, workloads: [] };
    group.workloads.push(workload);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function writeOf(owner: ClusterControllerResilience, namespace: string, wanted: Wanted): PlannedWrite[] {
  return wanted.found === undefined ? [creation(owner, namespace, wanted)] : correction(owner, wanted.found, wanted);
}

function creation(
  owner: ClusterControllerResilience,
  namespace: string,
  { name, labels, ownerReference, spec }: Wanted,
): PlannedWrite {
  const body = { metadata: { labels, ownerReferences: [ownerReference] }, spec };
  const why = `${nameOf(owner)} selects ${String(spec.targets.length)} workloads of this namespace`;
  const target = refTo(namespace, name);
  const intent: Intent = { verb: "create", target, body, why, eventReason: "Generated" };
  return { for: owner.metadata.uid, intent, needsLive: spec.mode === "Enforce" && !spec.suspend };
}

function correction(
  owner: ClusterControllerResilience,
  found: ControllerResilience,
  { labels, ownerReference, spec }: Wanted,
): PlannedWrite[] {
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
  return [{ for: owner.metadata.uid, intent, needsLive: !(isOnlyMore && spec.mode === "Observe") }];
}

function deletion(owner: ClusterControllerResilience, found: ControllerResilience): PlannedWrite {
  const { namespace, name } = found.metadata;
  const why = `${nameOf(owner)} selects no workload of it any more`;
  const intent: Intent = { verb: "delete", target: refTo(namespace, name, found), why, eventReason: "Pruned" };
  return { for: owner.metadata.uid, intent, needsLive: true };
}

function nameOf({ metadata }: ClusterControllerResilience): string {
  return `${CLUSTER_KIND}/${metadata.name}`;
}

function refTo(namespace: string, name: string, found?: ControllerResilience): ObjectRef {
  const identity = found && { uid: found.metadata.uid, resourceVersion: found.metadata.resourceVersion };
  return { apiVersion: apiVersionOf(KINDS[KIND]), kind: KIND, namespace, name, ...identity };
}
