import type { LeaseView } from "../../core/leases";
import type { PodView } from "../../core/views";

/** Longest host name that the kubelet gives a pod. */
const MAX_HOSTNAME = 63;

/**
 * The pods that hold Leases, by their identity: client-go's default is the host name, an underscore and a uuid, and many programs use the name
 * of the pod. Nobody is the holder if several pods of the namespace have that name. A pod in the network of its node has the node's name, which
 * is ambiguous: it counts only for a Lease that the spec lists.
 */
export class Holders {
  readonly #byName = new Map<string, Set<PodView>>();
  readonly #byNode = new Map<string, Set<PodView>>();

  /** @param all the pods of the namespace, those of the targets included */
  constructor(targets: readonly PodView[], all: readonly PodView[]) {
    for (const pod of all) for (const name of namesOf(pod)) add(this.#byName, name, pod);
    for (const pod of targets)
      if (pod.hostNetwork === true && pod.nodeName !== undefined) add(this.#byNode, pod.nodeName, pod);
  }

  /** Returns the holder of a Lease; undefined if no pod of the namespace is it, or nobody knows which. */
  of({ holder }: LeaseView, isListed: boolean): PodView | undefined {
    const [host = ""] = holder.split("_", 1);
    const named = new Set([...(this.#byName.get(host) ?? []), ...((isListed && this.#byNode.get(host)) || [])]);
    const [pod] = named;
    return named.size === 1 ? pod : undefined;
  }
}

function namesOf({ name, hostNetwork }: PodView): readonly string[] {
  return hostNetwork === true ? [name] : [name, name.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, "")];
}

function add(pods: Map<string, Set<PodView>>, name: string, pod: PodView): void {
  const known = pods.get(name);
  if (known === undefined) pods.set(name, new Set([pod]));
  else known.add(pod);
}
