import { type Candidate, type Facts, workloadName } from "../../../core/cluster-wide";
import { CLUSTER_KIND } from "../../../api/names";
import type { BindingView } from "../../../core/views";
import { protectionsOf } from "../../../engine/cluster-wide/coverage";
import { planNamespace } from "../../../engine/cluster-wide/plan";
import { presetFor } from "../../../engine/cluster-wide/presets/presets";
import { readExpiry } from "../../../remedies/binding-renewal/conventions";
import { markedOf } from "../../../remedies/binding-renewal/schedule";
import { tokenLives } from "../audit/checks/token-life";
import type { WorkloadFacts } from "../audit/facts";
import type { ClusterLists } from "../plan/cluster-lists";

/** An unprotected workload that uses the API. */
export interface Unprotected {
  readonly namespace: string;
  readonly candidate: Candidate;
  /** Preset of ClusterControllerResilience that knows the program. */
  readonly preset?: { readonly name: string; readonly why: string; readonly evidence?: readonly string[] };
}

/** What a suggestion rests on. */
export interface FoundFacts {
  readonly workloads: readonly Unprotected[];
  /** Bindings with an expiry, only of ServiceAccounts of these workloads. */
  readonly expiring: readonly BindingView[];
  /** DaemonSets with a long token, and those whose token must not be shortened; as `namespace/name`. */
  readonly longTokens: readonly string[];
  readonly keepTokens: readonly string[];
}

/** Finds what is not protected yet. Pure. */
export function findUnprotected(facts: readonly Facts[], lists: ClusterLists, nowMs: number): FoundFacts {
  const workloads = facts.flatMap(unprotectedIn);
  const names = new Set(workloads.map(({ namespace, candidate }) => `${namespace}/${workloadName(candidate)}`));
  const own = lists.workloads.filter(({ view }) => names.has(`${view.namespace}/${view.kind}/${view.name}`));
  const lives = tokenLives({ ...lists, nowMs, workloads: own, coverage: facts });
  const of = (check: string): string[] =>
    lives.filter(one => one.check === check).map(({ namespace, name }) => `${namespace}/${name}`);
  return {
    workloads,
    expiring: lists.bindings.filter(binding => isExpiringOf(binding, own)),
    longTokens: of("LongToken"),
    keepTokens: of("KeepToken"),
  };
}

function unprotectedIn(facts: Facts): Unprotected[] {
  const { namespace, candidates } = facts;
  if (namespace.skip || namespace.isTerminating || namespace.name === facts.ownNamespace) return [];
  const isOpen = new Set(
    protectionsOf(facts, planNamespace(facts))
      .filter(({ protection }) => protection === "unprotected")
      .map(({ workload }) => workload),
  );
  return candidates
    .filter(candidate => isOpen.has(workloadName(candidate)))
    .map(candidate => {
      const preset = presetFor(candidate, []);
      const known = preset && {
        name: preset.name,
        why: preset.why,
        ...(preset.changes.evidence && { evidence: preset.changes.evidence }),
      };
      return { namespace: namespace.name, candidate, ...(known && { preset: known }) };
    });
}

/** As bindingRenewal with an empty list: all subjects are ServiceAccounts of the targets. */
function isExpiringOf(binding: BindingView, workloads: readonly WorkloadFacts[]): boolean {
  const { earliest } = readExpiry(markedOf(binding));
  const accounts = new Set(workloads.map(({ view }) => `${view.namespace}/${view.serviceAccountName}`));
  return (
    earliest !== undefined &&
    binding.subjects.length > 0 &&
    binding.subjects.every(
      ({ kind, name, namespace }) =>
        kind === "ServiceAccount" && accounts.has(`${namespace ?? binding.namespace}/${name}`),
    )
  );
}

/** Names of the ClusterControllerResiliences that the cluster has, for a comment. */
export function clusterObjectsOf({ clusterObjects }: ClusterLists): string {
  return clusterObjects.map(({ metadata }) => `${CLUSTER_KIND} ${metadata.name}`).join(", ");
}
