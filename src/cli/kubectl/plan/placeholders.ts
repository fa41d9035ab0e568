import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import type { ControllerResilience, ObjectMetadata } from "../../../api/controller-resilience";
import { toSeconds } from "../../../core/time";

/** No object has this uid, so nothing in the cluster belongs to an object that does not exist yet. */
export const NO_UID = "00000000-0000-0000-0000-000000000000";

/** Returns an object of a file as the API server would hold it: with the identity and status of the present one, if there is one. */
export function asApplied<T extends ControllerResilience | ClusterControllerResilience>(
  file: T,
  live: T | undefined,
  now: Date,
): T {
  const { name, namespace, labels, annotations } = file.metadata as ObjectMetadata;
  const fresh = { uid: NO_UID, resourceVersion: "0", generation: 1, creationTimestamp: toSeconds(now) };
  const said = {
    name,
    ...(namespace && { namespace }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  };
  const { status } = live ?? {};
  return {
    apiVersion: file.apiVersion,
    kind: file.kind,
    metadata: { ...fresh, ...live?.metadata, ...said },
    spec: file.spec,
    ...(status && { status }),
  } as unknown as T;
}
