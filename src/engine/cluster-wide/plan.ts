import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { CLUSTER_KIND, KIND, PRESET_LABEL } from "../../api/names";
import type { Intent, ObjectRef } from "../../core/intent";
import { apiVersionOf, KINDS } from "../../core/kinds";
import { type Candidate, type Facts, workloadName } from "../../core/cluster-wide";
import { distribute, type Group, isGenerated, isGeneratedFor, type Wanted } from "./generated";
import { mergePatch } from "./merge-patch";
import { withPreset } from "./presets/presets";
import { type Exclusion, modeIn, namespaceExclusion, workloadExclusion, workloadsOf } from "./selection";

/** What one ClusterControllerResilience finds in one namespace. */
export interface NamespaceShare {
  /** Why the namespace is not selected; null if it is. */
  readonly exclusion: Exclusion | null;
  /** Workloads that it selects, and that no other object protects; as `Deployment/web`. */
  readonly selected: readonly string[];
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
  /** It takes protection away, so it must rest on live reads. */
  readonly takesAway: boolean;
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
  for (const object of facts.objects.filter(object => !isGenerated(object)))
    for (const workload of workloadsOf(object, facts.candidates)) claimed.set(workload, HAND_WRITTEN);
  for (const owner of facts.clusterObjects) {
    const found = facts.objects.filter(object => isGeneratedFor(object, owner));
    const choice = choose(owner, facts, found, claimed);
    for (const { workload } of choice.selected) claimed.set(workload, owner.metadata.name);
    writes.push(...writesFor(owner, facts, choice.selected, found));
    shares.set(owner.metadata.uid, shareOf(choice, found));
  }
  return { writes, shares };
}

/** Stands for any hand-written object among the names of ClusterControllerResiliences, which are not empty. */
const HAND_WRITTEN = "";

interface Choice {
  readonly exclusion: Exclusion | null;
  readonly selected: readonly { readonly workload: string; readonly candidate: Candidate }[];
  readonly excluded: ReadonlyMap<Exclusion, number>;
  readonly overlaps: ReadonlyMap<string, readonly string[]>;
}

function choose(
  owner: ClusterControllerResilience,
  { namespace, candidates, ownNamespace }: Facts,
  found: readonly ControllerResilience[],
  claimed: ReadonlyMap<string, string>,
): Choice {
  const exclusion = namespaceExclusion(namespace, owner.spec, ownNamespace);
  const targets = new Set(found.flatMap(targetsOf));
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
  return {
    exclusion,
    selected: verdicts.filter(({ why, other }) => why === null && other === undefined),
    excluded,
    overlaps,
  };
}

function count(counts: Map<Exclusion, number>, reason: Exclusion): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}

/** Returns the workloads that a generated object lists: all its targets have names. */
function targetsOf({ spec }: ControllerResilience): string[] {
  return spec.targets.map(({ kind, name = "" }) => `${kind}/${name}`);
}

function shareOf({ selected, ...choice }: Choice, found: readonly ControllerResilience[]): NamespaceShare {
  const objects = found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const listed = new Set(objects.flatMap(targetsOf));
  const names = selected.map(({ workload }) => workload);
  return { ...choice, objects, selected: names, protected: names.filter(name => listed.has(name)).length };
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
  const wanted = groupsOf(owner, selected).flatMap(group => {
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

function groupsOf(owner: ClusterControllerResilience, selected: Choice["selected"]): Group[] {
  const groups = new Map<string, Group & { workloads: string[] }>();
  for (const { workload, candidate } of selected) {
    const { preset, template } = withPreset(owner.spec, candidate);
    const key = preset ?? "";
    const group = groups.get(key) ?? { ...(preset !== undefined && { preset }), template, workloads: [] };
    group.workloads.push(workload);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function writeOf(owner: ClusterControllerResilience, namespace: string, wanted: Wanted): PlannedWrite[] {
  const { found, name, labels, ownerReference, spec } = wanted;
  const by = `${CLUSTER_KIND}/${owner.metadata.name}`;
  if (found === undefined) {
    const body = { metadata: { labels, ownerReferences: [ownerReference] }, spec };
    const why = `${by} selects ${String(spec.targets.length)} workloads of this namespace`;
    const intent: Intent = {
      ...{ verb: "create", target: refTo(namespace, name) },
      body,
      why,
      eventReason: "Generated",
    };
    return [{ for: owner.metadata.uid, intent, takesAway: false }];
  }
  const patch = mergePatch(
    { metadata: { labels: { ...found.metadata.labels } }, spec: found.spec },
    { metadata: { labels: { ...found.metadata.labels, ...labels } }, spec },
  );
  if (patch === undefined) return [];
  const targets = targetsOf({ ...found, spec });
  const isLonger = targetsOf(found).every(workload => targets.includes(workload));
  const isOnlyMore = isLonger && Object.keys((patch["spec"] as object | undefined) ?? {}).join() === "targets";
  const why = isOnlyMore ? `${by} selects more workloads` : `${by} asks for another spec`;
  const intent: Intent = {
    ...{ verb: "patch", target: refTo(namespace, name, found) },
    body: patch,
    why,
    eventReason: "Corrected",
  };
  return [{ for: owner.metadata.uid, intent, takesAway: !isLonger }];
}

function deletion(owner: ClusterControllerResilience, found: ControllerResilience): PlannedWrite {
  const { namespace, name } = found.metadata;
  const why = `${CLUSTER_KIND}/${owner.metadata.name} selects no workload of it any more`;
  const intent: Intent = { verb: "delete", target: refTo(namespace, name, found), why, eventReason: "Pruned" };
  return { for: owner.metadata.uid, intent, takesAway: true };
}

function refTo(namespace: string, name: string, found?: ControllerResilience): ObjectRef {
  const identity = found && { uid: found.metadata.uid, resourceVersion: found.metadata.resourceVersion };
  return { apiVersion: apiVersionOf(KINDS[KIND]), kind: KIND, namespace, name, ...identity };
}
