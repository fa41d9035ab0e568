import type { LeaseView } from "../../core/leases";
import type { PodView } from "../../core/views";

/** Longest host name that the kubelet gives a pod. */
const MAX_HOSTNAME = 63;

/**
 * The pod that holds a Lease, by its identity: client-go's default is the host name, an underscore and a uuid, and many programs use the name of
 * the pod. Undefined if no pod has that name, or if several do. A pod in the network of its node has the node's name, which is ambiguous: it
 * counts only for a Lease that the spec lists. Pure.
 */
export function holderOf({ holder }: LeaseView, pods: readonly PodView[], isListed: boolean): PodView | undefined {
  const [host = ""] = holder.split("_", 1);
  if (host === "") return undefined;
  const named = pods.filter(pod => namesOf(pod, isListed).includes(host));
  return named.length === 1 ? named[0] : undefined;
}

function namesOf({ name, nodeName, hostNetwork }: PodView, isListed: boolean): readonly string[] {
  if (hostNetwork === true) return [name, ...(isListed && nodeName !== undefined ? [nodeName] : [])];
  return [name, name.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, "")];
}
