import { workloadId } from "../../core/text";
import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { Facts } from "./facts";
import { isBeingDeleted, isGenerated, isGeneratedFor, isHeld, listedIn } from "./generated";
import { type Exclusion, namespaceExclusion, workloadExclusion, workloadsOf } from "./selection";
import { type PlannedWrite, writesFor } from "./generated";

/** What one ClusterControllerResilience finds in one namespace. */
export interface NamespaceShare {
  /** Why the namespace is not selected; null if it is. */
  readonly exclusion: Exclusion | null;
  /** Generation of the ClusterControllerResilience that was planned for. */
  readonly generation: number;
  /** The generated objects are as they have to be, and nothing waits to be removed. */
  readonly isSettled: boolean;
  /** Workloads that it selects, and that no other object protects; as `Deployment/web`. */
  readonly selected: ReadonlySet<string>;
  /** Those of them that a generated object lists already. */
  readonly protected: number;
  /** Workloads that it does not select any more, and that the generated object lists nevertheless, since they must not lose protection yet. */
  readonly kept: readonly string[];
  /** Such workloads that the writes leave out. */
  readonly removed: readonly string[];
  /** Why it does not select workloads that use the API, or that another object protects. */
  readonly excluded: ReadonlyMap<string, Exclusion>;
  /** Workloads that an older one selects as well and protects, by the name of that one. */
  readonly overlaps: ReadonlyMap<string, readonly string[]>;
  /** The generated objects. */
  readonly objects: readonly ControllerResilience[];
  /** Those that are being deleted. */
  readonly ending: readonly ControllerResilience[];
}

/** The writes for a namespace. */
export interface NamespacePlan {
  readonly writes: readonly PlannedWrite[];
  /** By uid of the ClusterControllerResilience. */
  readonly shares: ReadonlyMap<string, NamespaceShare>;
}

/**
 * Decides which objects a namespace needs. Pure.
 *
 * @param keeps whether a workload that is not selected any more stays in the generated object that lists it
 */
export function planNamespace(
  facts: Facts,
  keeps: (owner: ClusterControllerResilience, workload: string) => boolean = () => false,
): NamespacePlan {
  const writes: PlannedWrite[] = [];
  const shares = new Map<string, NamespaceShare>();
  const claimed = new Map<string, string>();
  for (const object of facts.objects.filter(object => !isGenerated(object) && !isBeingDeleted(object)))
    for (const workload of workloadsOf(object, facts.candidates)) claimed.set(workload, HAND_WRITTEN);
  for (const owner of facts.clusterObjects) {
    const found = facts.objects.filter(object => isGeneratedFor(object, owner));
    const choice = choose(owner, facts, found, claimed);
    // Where the operator does not act, an object whose workloads are all superfluous stays as it is.
    const stays = isHeld(facts) && choice.selected.length === 0;
    // A younger owner takes over only what is not kept: it may select the workload, and only observe.
    const lost = stays ? [] : choice.unselected.filter(workload => !claimed.has(workload));
    const kept = lost.filter(workload => keeps(owner, workload));
    const removed = lost.filter(workload => !keeps(owner, workload));
    const listed = [...choice.selected, ...kept];
    for (const workload of listed) claimed.set(workload, owner.metadata.name);
    const needed = writesFor(owner, facts, listed, found);
    writes.push(...needed);
    shares.set(owner.metadata.uid, shareOf(owner, { ...choice, kept, removed }, found, needed));
  }
  return { writes, shares };
}

/** Stands for any hand-written object among the names of ClusterControllerResiliences, which are not empty. */
const HAND_WRITTEN = "";

interface Choice {
  readonly exclusion: Exclusion | null;
  /** As `Deployment/web`; those included that have gone a moment ago, and stay in the object that lists them. */
  readonly selected: readonly string[];
  readonly excluded: ReadonlyMap<string, Exclusion>;
  readonly overlaps: ReadonlyMap<string, readonly string[]>;
  /** Workloads that exist and that an object of this owner lists, and that it does not select any more. */
  readonly unselected: readonly string[];
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
    const workload = workloadId(candidate);
    const why = exclusion ?? workloadExclusion(candidate, owner.spec, targets.has(workload));
    return { candidate, workload, why, other: why === null ? claimed.get(workload) : undefined };
  });
  const excluded = new Map<string, Exclusion>();
  const overlaps = new Map<string, string[]>();
  for (const { candidate, workload, why, other } of verdicts) {
    if (why !== null && candidate.usesApi) excluded.set(workload, why);
    if (other === undefined) continue;
    excluded.set(workload, other === HAND_WRITTEN ? "HandWritten" : "OtherClusterObject");
    if (other !== HAND_WRITTEN) overlaps.set(other, [...(overlaps.get(other) ?? []), workload]);
  }
  const selected = verdicts.filter(({ why, other }) => why === null && other === undefined);
  const gone = exclusion === null ? [...targets].filter(one => vanishing?.has(one) && !claimed.has(one)) : [];
  const present = new Set(found.filter(object => !isBeingDeleted(object)).flatMap(listedIn));
  // What its owner leaves out by name goes at once.
  const mayStay = ({ candidate, why }: (typeof verdicts)[number]): boolean =>
    why !== null && why !== "Terminating" && why !== "OptedOut" && candidate.protect !== false;
  const out = verdicts.filter(verdict => mayStay(verdict) && present.has(verdict.workload));
  return {
    ...{ exclusion, excluded, overlaps },
    selected: [...selected.map(({ workload }) => workload), ...gone],
    unselected: out.map(({ workload }) => workload),
  };
}

/** Counts equal values. */
export function tally(values: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function shareOf(
  { metadata: { generation } }: ClusterControllerResilience,
  { selected, exclusion, excluded, overlaps, kept, removed }: Choice & Pick<NamespaceShare, "kept" | "removed">,
  found: readonly ControllerResilience[],
  writes: readonly PlannedWrite[],
): NamespaceShare {
  const objects = found.filter(object => !isBeingDeleted(object));
  const listed = new Set(objects.flatMap(listedIn));
  return {
    ...{ exclusion, excluded, overlaps, kept, removed, generation },
    isSettled: writes.length === 0 && kept.length === 0,
    ...{
      objects,
      ending: found.filter(isBeingDeleted),
      selected: new Set(selected),
      protected: selected.filter(name => listed.has(name)).length,
    },
  };
}
