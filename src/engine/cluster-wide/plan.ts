import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { workloadId } from "../../core/text";
import { type Candidate, type Facts, protectOf } from "./facts";
import {
  isBeingDeleted,
  isGenerated,
  isGeneratedFor,
  isHeld,
  listedIn,
  type PlannedWrite,
  writesFor,
} from "./generated";
import { type Exclusion, namespaceExclusion, workloadExclusion, workloadsOf } from "./selection";

/** What one ClusterControllerResilience finds in one namespace. */
export interface NamespaceShare {
  /** Why the namespace is not selected; null if it is. */
  readonly exclusion: Exclusion | null;
  /** Generation of the ClusterControllerResilience that was planned for. */
  readonly generation: number;
  /** The generated objects are as they have to be, and nothing waits to be removed. */
  readonly isSettled: boolean;
  /**
   * Workloads that it selects, and that no other object protects, as `Deployment/web`; those included that have gone a moment ago, and stay
   * in the object that lists them.
   */
  readonly selected: ReadonlySet<string>;
  /** Number of those that a generated object lists already. */
  readonly protected: number;
  /** Workloads that a generated object lists and that it does not select any more: they lose protection, or keep it for now. */
  readonly lost: readonly string[];
  /** Why it does not select workloads that use the API, or that another object protects. */
  readonly excluded: ReadonlyMap<string, Exclusion>;
  /** Workloads that an older one selects as well and protects, by the name of that one. */
  readonly overlaps: ReadonlyMap<string, readonly string[]>;
  /** The generated objects, those included that are being deleted. */
  readonly objects: readonly ControllerResilience[];
}

/** The writes for a namespace. */
export interface NamespacePlan {
  readonly writes: readonly PlannedWrite[];
  /** By uid of the ClusterControllerResilience. */
  readonly shares: ReadonlyMap<string, NamespaceShare>;
}

/** Stands for any hand-written object among the names of ClusterControllerResiliences, which are not empty. */
const HAND_WRITTEN = "";

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
    const share = shareOf(owner, facts, found, claimed);
    const kept = share.lost.filter(workload => keeps(owner, workload));
    const listed = [...share.selected, ...kept];
    // A younger owner takes over only what is not kept: it may select the workload, and only observe.
    for (const workload of listed) claimed.set(workload, owner.metadata.name);
    const needed = writesFor(owner, facts, listed, found);
    writes.push(...needed);
    shares.set(owner.metadata.uid, { ...share, isSettled: needed.length === 0 && kept.length === 0 });
  }
  return { writes, shares };
}

function shareOf(
  owner: ClusterControllerResilience,
  facts: Facts,
  objects: readonly ControllerResilience[],
  claimed: ReadonlyMap<string, string>,
): Omit<NamespaceShare, "isSettled"> {
  const exclusion = namespaceExclusion(facts.namespace, owner.spec, facts.ownNamespace);
  const targets = new Set(objects.flatMap(listedIn));
  const listed = new Set(objects.filter(object => !isBeingDeleted(object)).flatMap(listedIn));
  const verdicts = facts.candidates.map(candidate => {
    const workload = workloadId(candidate);
    const why = exclusion ?? workloadExclusion(candidate, owner.spec, targets.has(workload));
    return { candidate, workload, why, other: claimed.get(workload) };
  });
  const excluded = new Map<string, Exclusion>();
  const overlaps = new Map<string, string[]>();
  for (const { candidate, workload, why, other } of verdicts) {
    if (why !== null && candidate.usesApi) excluded.set(workload, why);
    if (why !== null || other === undefined) continue;
    const isByHand = other === HAND_WRITTEN;
    excluded.set(workload, isByHand ? "HandWritten" : "OtherClusterObject");
    if (!isByHand) overlaps.set(other, [...(overlaps.get(other) ?? []), workload]);
  }
  const free = verdicts.filter(({ other }) => other === undefined);
  const gone = [...targets].filter(one => exclusion === null && facts.vanishing?.has(one) && !claimed.has(one));
  const selected = new Set([...free.filter(({ why }) => why === null).map(({ workload }) => workload), ...gone]);
  // Where the operator does not act, an object whose workloads are all superfluous stays as it is.
  const stays = isHeld(facts) && selected.size === 0;
  const lost = free.filter(verdict => !stays && listed.has(verdict.workload) && mayStay(verdict));
  return {
    ...{ exclusion, generation: owner.metadata.generation, selected, excluded, overlaps, objects },
    protected: [...selected].filter(workload => listed.has(workload)).length,
    lost: lost.map(({ workload }) => workload),
  };
}

/** What its owner leaves out by name goes at once. */
function mayStay({ candidate, why }: { readonly candidate: Candidate; readonly why: Exclusion | null }): boolean {
  return why !== null && why !== "Terminating" && why !== "OptedOut" && protectOf(candidate) !== false;
}

/** Counts equal values. */
export function tally(values: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
