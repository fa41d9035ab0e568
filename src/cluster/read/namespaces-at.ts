import type { PodView } from "../../core/views";

/** The watch caches of pods. */
export interface PodCaches {
  namespaces(): string[];
  pods(namespace: string): Promise<readonly PodView[]>;
}

/** Returns the watched namespaces with a pod at one of these addresses. Namespaces whose pods are not known now are not among them. */
export async function namespacesAt(addresses: ReadonlySet<string>, caches: PodCaches): Promise<string[]> {
  const looked = caches.namespaces().map(async namespace => {
    const pods = await caches.pods(namespace).catch(() => []);
    const isThere = pods.some(pod => pod.addresses?.some(address => addresses.has(address)) === true);
    return isThere ? [namespace] : [];
  });
  return (await Promise.all(looked)).flat();
}
