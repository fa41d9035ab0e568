import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { matchesSelector, type NamespaceView, type WorkloadView } from "../../core/views";
import { workloadId } from "../../core/text";
import { type Candidate, protectOf } from "./facts";

/** Why a namespace or a workload is not selected; HandWritten and OtherClusterObject mean that another object protects it. */
export type Exclusion =
  | ("Terminating" | "OperatorNamespace" | "OptedOut" | "NamespaceNotSelected")
  | ("KindNotSelected" | "WorkloadNotSelected" | "DoesNotUseAPI" | "HandWritten" | "OtherClusterObject");

type Spec = ClusterControllerResilience["spec"];

/** Returns why a ClusterControllerResilience does not select a namespace; null if it does. */
export function namespaceExclusion(
  namespace: NamespaceView,
  { namespaceSelector, excludeNamespaces }: Spec,
  ownNamespace: string,
): Exclusion | null {
  const { name, labels, deletedAtMs } = namespace;
  if (deletedAtMs !== undefined) return "Terminating";
  // kube-node-lease has only Leases of nodes.
  if (name === "kube-node-lease" || name === ownNamespace) return "OperatorNamespace";
  const protect = protectOf(namespace);
  if (protect === false) return "OptedOut";
  if (excludeNamespaces.some(pattern => matchesName(name, pattern))) return "NamespaceNotSelected";
  return protect === true || matchesSelector(labels, namespaceSelector) ? null : "NamespaceNotSelected";
}

/**
 * Returns why a ClusterControllerResilience does not select a workload of a selected namespace, other objects aside; null if it does.
 *
 * @param isTarget a generated object of this ClusterControllerResilience lists it: it stays selected when its binding goes, since
 *   its object says which binding that was, but not when it mounts no token any more
 */
export function workloadExclusion(candidate: Candidate, { workloads }: Spec, isTarget: boolean): Exclusion | null {
  const protect = protectOf(candidate);
  if (protect === false) return "OptedOut";
  if (!workloads.kinds.includes(candidate.kind)) return "KindNotSelected";
  if (protect === true) return null;
  if (!matchesSelector(candidate.labels, workloads.selector)) return "WorkloadNotSelected";
  return candidate.usesApi || (isTarget && candidate.mountsToken) ? null : "DoesNotUseAPI";
}

/** Returns the mode of the objects that are generated in a namespace. */
export function modeIn(
  { labels }: NamespaceView,
  { mode, enforce }: Pick<Spec, "mode" | "enforce">,
): "Enforce" | "Observe" {
  const isEnforced = enforce !== undefined && matchesSelector(labels, enforce.namespaceSelector);
  return isEnforced ? "Enforce" : mode;
}

/** Returns the workloads that an object names or selects, as {@link workloadId} writes them. */
export function workloadsOf(
  { spec }: ControllerResilience,
  candidates: readonly (Pick<WorkloadView, "name" | "labels"> & { readonly kind: string })[],
): Set<string> {
  const named = spec.targets.flatMap(({ kind, name }) => (name === undefined ? [] : [workloadId({ kind, name })]));
  const selected = spec.targets.flatMap(({ kind, selector }) => {
    if (selector === undefined) return [];
    return candidates.filter(one => one.kind === kind && matchesSelector(one.labels, selector)).map(workloadId);
  });
  return new Set([...named, ...selected]);
}

function matchesName(name: string, pattern: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
