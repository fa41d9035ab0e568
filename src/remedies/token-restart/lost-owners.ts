import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
import { isOpen } from "../../core/restarts";
import { parseWorkloadId, workloadId, type WatchedWorkload } from "./observed";
import { isTypedKind } from "./pod-owner";

/**
 * Returns owners of unknown kind that lost their last selected pod by a restart whose outcome is open. Only its pods show that such an owner
 * exists, so status remembers it: otherwise the operator would not notice that it does not recreate the pod. Pure.
 */
export function lostOwners(
  { metadata, spec }: ControllerResilience,
  restarts: readonly RestartStatus[],
  found: readonly WatchedWorkload[],
): WatchedWorkload[] {
  if (!spec.targets.some(({ kind }) => kind === "Pod")) return [];
  const known = new Set(found.map(view => workloadId(view)));
  const open = restarts.filter(entry => isOpen(entry)).map(({ workload }) => workload);
  const lost = [...new Set(open)].filter(id => !known.has(id) && !isTypedKind(parseWorkloadId(id).kind));
  return lost.toSorted().map(id => lostOwner(id, metadata.namespace));
}

function lostOwner(id: string, namespace: string): WatchedWorkload {
  return {
    ...parseWorkloadId(id),
    namespace,
    uid: id,
    resourceVersion: "",
    labels: {},
    skip: false,
    serviceAccountName: "default",
    selected: new Set(),
  };
}
