import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../../api/controller-resilience";
import type { CLUSTER_KIND } from "../../../api/names";
import type { Facts } from "../../../engine/cluster-wide/facts";
import { isTooMuch, lostIn } from "../../../engine/cluster-wide/brake";
import { type NamespaceShare, planNamespace, tally } from "../../../engine/cluster-wide/plan";
import { modeIn } from "../../../engine/cluster-wide/selection";
import { isBeingDeleted, type PlannedWrite } from "../../../engine/cluster-wide/generated";
import { asApplied } from "./documents";
import type { ObjectPlan } from "./plan-object";

/** What a ClusterControllerResilience would come to in one namespace. */
export interface NamespacePlanned {
  readonly namespace: string;
  readonly mode: "Enforce" | "Observe";
  /** As `Deployment/web`. */
  readonly selected: readonly string[];
  /** Workloads that use the API and are not selected, by reason. */
  readonly notSelected: Readonly<Record<string, number>>;
  /** ControllerResiliences that the operator would create, change or delete. */
  readonly writes: readonly { readonly verb: string; readonly name: string; readonly why: string }[];
}

/** What the operator would do now for one ClusterControllerResilience. */
export interface ClusterPlan {
  readonly kind: typeof CLUSTER_KIND;
  readonly name: string;
  readonly exists: boolean;
  readonly suspended: boolean;
  readonly namespaces: readonly NamespacePlanned[];
  /** Namespaces that it does not select, by reason. */
  readonly excludedNamespaces: Readonly<Record<string, number>>;
  /** Number of workloads that it does not select any more, and that stay protected until a person allows to remove them. */
  readonly kept: number;
  /** The plans of the objects that it would have. */
  readonly objects: readonly ObjectPlan[];
}

/** An object that the operator would generate, and whether it exists. */
export interface Generated {
  readonly object: ControllerResilience;
  readonly exists: boolean;
}

/**
 * Decides, by the operator's own rules, what an object needs in each namespace. `lost` is the number of workloads that it does not select any more. Pure.
 *
 * @param areAll these are all namespaces: only together they show what the brake keeps
 */
export function planNamespaces(
  owner: ClusterControllerResilience,
  namespaces: readonly Facts[],
  now: Date,
  areAll = true,
): Pick<ClusterPlan, "namespaces" | "excludedNamespaces" | "kept"> & { generated: Generated[]; lost: number } {
  const planned: NamespacePlanned[] = [];
  const excluded: Record<string, number> = {};
  const generated: Generated[] = [];
  const shared = namespaces.map(facts => ({
    namespace: facts.namespace.name,
    share: planNamespace(facts, () => true).shares.get(owner.metadata.uid),
  }));
  const lost = lostIn(shared).length;
  const kept = areAll && isTooMuch(owner, lost, shared) ? lost : 0;
  for (const facts of namespaces) {
    const { shares, writes } = planNamespace(facts, () => kept > 0);
    const share = shares.get(owner.metadata.uid);
    if (share === undefined) continue;
    const own = writes.filter(write => write.for === owner.metadata.uid);
    if (share.exclusion !== null) excluded[share.exclusion] = (excluded[share.exclusion] ?? 0) + 1;
    if (share.exclusion === null || own.length > 0) planned.push(describe(facts, owner, share, own));
    generated.push(...generatedBy(share, own, facts.namespace.name, now));
  }
  return { namespaces: planned, excludedNamespaces: excluded, kept, generated, lost };
}

function describe(
  { namespace }: Facts,
  { spec }: ClusterControllerResilience,
  { selected, excluded }: NamespaceShare,
  writes: readonly PlannedWrite[],
): NamespacePlanned {
  return {
    namespace: namespace.name,
    mode: modeIn(namespace, spec),
    selected: [...selected].sort(),
    notSelected: Object.fromEntries(tally(excluded.values())),
    writes: writes.map(({ intent: { verb, target, why } }) => ({ verb, name: target.name, why })),
  };
}

function generatedBy(
  { objects }: NamespaceShare,
  writes: readonly PlannedWrite[],
  namespace: string,
  now: Date,
): Generated[] {
  const written = new Map(writes.map(write => [write.intent.target.name, write]));
  const kept = objects.flatMap(object => {
    if (isBeingDeleted(object)) return [];
    const { intent, spec = object.spec } = written.get(object.metadata.name) ?? {};
    return intent?.verb === "delete" ? [] : [{ object: { ...object, spec }, exists: true }];
  });
  const created = writes.flatMap(({ intent: { verb, target }, spec }) => {
    if (verb !== "create" || spec === undefined) return [];
    const { apiVersion, kind, name } = target;
    const file = { apiVersion, kind, metadata: { namespace, name }, spec } as ControllerResilience;
    return [{ object: asApplied(file, undefined, now), exists: false }];
  });
  return [...kept, ...created];
}
