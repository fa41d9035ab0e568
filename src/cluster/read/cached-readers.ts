import type { ClusterWideCaches } from "../../core/ports";
import { ForbiddenError, TransientError } from "../../core/errors";
import { WORKLOAD_KINDS } from "../../core/kinds";
import type { Readers } from "../../core/readers";
import type { ClusterKind, WorkloadView } from "../../core/views";
import type { CLUSTER_KIND, KIND } from "../../api/names";
import type { OwnWatch } from "../watch/own-objects";
import type { Informers } from "../watch/informers";

/**
 * Age of the published keys in a pass on caches, in milliseconds. It is shorter than the time between two full passes by
 * default, which is 54 s at least, so each of them reads the keys. A pod that is younger than the last reading without a new key may hold a token of that key, so that nothing is proven of it.
 */
const KEYS_AGE_MS = 53_000;

/** The watch caches that {@link cachedReaders} reads. */
export type ReadCaches = Pick<Informers, "cache" | "clusterObjects">;

/**
 * Returns the live readers, with Namespaces, workloads, ServiceAccounts, bindings, cluster-scoped objects and this project's own from watch
 * caches, for passes that write no more than conditions and targets (docs/adr/0027). Without a cache that can be trusted it reads live.
 */
export function cachedReaders(
  live: Readers,
  caches: ReadCaches,
  objects: Pick<OwnWatch<typeof KIND>, "objects">,
): Readers {
  const find = async <K extends Parameters<ReadCaches["cache"]>[0]>(kind: K, namespace: string, name: string) =>
    (await caches.cache<K>(kind, namespace)).find(name) ?? null;
  const workloads = async (kind: WorkloadView["kind"], namespace: string) =>
    byName((await caches.cache(kind, namespace)).views());
  const own = async (namespace: string) => Promise.resolve(objects.objects(namespace));
  const clusterObjects = async (kind: ClusterKind) => {
    const all = await caches.clusterObjects(kind);
    return all && byName(all);
  };
  return {
    ...live,
    namespace: name => orLive(find("Namespace", "", name), () => live.namespace(name)),
    workload: (...which) => orLive(find(...which), () => live.workload(...which)),
    workloads: (...which) => orLive(workloads(...which), () => live.workloads(...which)),
    daemonSet: (...which) => orLive(find("DaemonSet", ...which), () => live.daemonSet(...which)),
    objects: namespace => orLive(own(namespace), () => live.objects(namespace)),
    serviceAccount: (...which) => orLive(find("ServiceAccount", ...which), () => live.serviceAccount(...which)),
    binding: (kind, namespace, name) =>
      orLive(find(kind, kind === "RoleBinding" ? namespace : "", name), () => live.binding(kind, namespace, name)),
    clusterObjects: kind => orLive(clusterObjects(kind), () => live.clusterObjects(kind)),
    keyRotation: (maxAgeMs = KEYS_AGE_MS) => live.keyRotation(maxAgeMs),
  };
}

async function orLive<T>(cached: Promise<T>, live: () => Promise<T>): Promise<T> {
  try {
    return await cached;
  } catch (error) {
    if (!(error instanceof ForbiddenError || error instanceof TransientError)) throw error;
    return live();
  }
}

/** Sorted snapshots of caches: a cache returns the same array until it changes. */
const sorted = new WeakMap<readonly unknown[], readonly unknown[]>();

/** Returns the views in the order in which the API server lists objects, so that a cached pass reports what a live one does. */
function byName<V extends { readonly name: string }>(views: readonly V[]): readonly V[] {
  const known = sorted.get(views) as readonly V[] | undefined;
  const ordered = known ?? views.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  sorted.set(views, ordered);
  return ordered;
}

/** Returns the watch caches that the loop of ClusterControllerResiliences reads. */
export function clusterWideCaches(watches: {
  readonly informers: Pick<Informers, "cache" | "bindings">;
  readonly objects: Pick<OwnWatch<typeof KIND>, "attempted" | "objects">;
  readonly clusterObjects: Pick<OwnWatch<typeof CLUSTER_KIND>, "attempted" | "objects">;
}): ClusterWideCaches {
  const { informers, objects, clusterObjects } = watches;
  return {
    namespaces: async () => (await informers.cache("Namespace")).views(),
    namespace: async name => (await informers.cache("Namespace")).find(name),
    workloads: async namespace => {
      const caches = await Promise.all(WORKLOAD_KINDS.map(kind => informers.cache(kind, namespace)));
      return caches.flatMap(cache => cache.views());
    },
    serviceAccounts: async namespace => (await informers.cache("ServiceAccount", namespace)).views(),
    bindings: (namespace = "") =>
      informers.bindings(namespace === "" ? "ClusterRoleBinding" : "RoleBinding", namespace),
    attempted: async () => {
      await Promise.all([objects.attempted(), clusterObjects.attempted()]);
    },
    objects: namespace => objects.objects(namespace),
    clusterObjects: () => clusterObjects.objects(),
  };
}
