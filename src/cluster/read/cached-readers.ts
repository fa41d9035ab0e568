import type { ClusterWideCaches } from "../../core/cluster-wide";
import { ForbiddenError, TransientError } from "../../core/errors";
import { WORKLOAD_KINDS } from "../../core/kinds";
import type { Readers } from "../../core/readers";
import { matchesSelector } from "../../core/views";
import type { CLUSTER_KIND, KIND } from "../../api/names";
import type { OwnWatch } from "../watch/own-objects";
import type { Informers } from "../watch/informers";

/**
 * Age of the published keys in a pass that writes nothing, in milliseconds. It is shorter than the time between two full passes by
 * default, which is 54 s at least, so each of them reads the keys. A pod that is younger than the last reading without a new key may hold a token of that key, so that nothing is proven of it.
 */
const KEYS_AGE_MS = 53_000;

/** The watch caches that {@link cachedReaders} reads. */
export type ReadCaches = Pick<
  Informers,
  "namespaceObjects" | "workloads" | "daemonSets" | "serviceAccounts" | "bindingCache" | "clusterObjects"
>;

/**
 * Returns the live readers, with Namespaces, workloads, ServiceAccounts, bindings, cluster-scoped objects and this project's own from watch
 * caches, for passes that write nothing (docs/adr/0027). Without a cache that can be trusted it reads live.
 */
export function cachedReaders(
  live: Readers,
  caches: ReadCaches,
  objects: Pick<OwnWatch<typeof KIND>, "objects">,
): Readers {
  const cached: Partial<Readers> = { ...workloadsOf(live, caches), ...othersOf(live, caches, objects) };
  return new Proxy(live, {
    get: (_, name: keyof Readers) => {
      const read: unknown = cached[name] ?? live[name];
      return typeof read === "function" && !(name in cached) ? (read.bind(live) as unknown) : read;
    },
  });
}

function workloadsOf(live: Readers, caches: ReadCaches): Partial<Readers> {
  return {
    namespace: name =>
      orLive(
        async () => (await caches.namespaceObjects()).find("", name) ?? null,
        () => live.namespace(name),
      ),
    workload: (kind, namespace, name) =>
      orLive(
        async () => (await caches.workloads(kind, namespace)).find(namespace, name) ?? null,
        () => live.workload(kind, namespace, name),
      ),
    workloads: (kind, namespace) =>
      orLive(
        async () => byName((await caches.workloads(kind, namespace)).views()),
        () => live.workloads(kind, namespace),
      ),
    daemonSet: (namespace, name) =>
      orLive(
        async () => (await caches.daemonSets(namespace)).find(namespace, name) ?? null,
        () => live.daemonSet(namespace, name),
      ),
  };
}

function othersOf(
  live: Readers,
  caches: ReadCaches,
  objects: Pick<OwnWatch<typeof KIND>, "objects">,
): Partial<Readers> {
  return {
    objects: namespace =>
      orLive(
        () => objects.objects(namespace),
        () => live.objects(namespace),
      ),
    serviceAccount: (namespace, name) =>
      orLive(
        async () => (await caches.serviceAccounts(namespace)).find(namespace, name) ?? null,
        () => live.serviceAccount(namespace, name),
      ),
    binding: (kind, namespace, name) =>
      orLive(
        async () =>
          (await caches.bindingCache(kind, namespace)).find(kind === "RoleBinding" ? namespace : "", name) ?? null,
        () => live.binding(kind, namespace, name),
      ),
    clusterObjects: (kind, labels) =>
      orLive(
        async () => {
          const objects = await caches.clusterObjects(kind);
          return objects && byName(objects).filter(view => matchesSelector(view.labels, { matchLabels: labels ?? {} }));
        },
        () => live.clusterObjects(kind, labels),
      ),
    keyRotation: (maxAgeMs = KEYS_AGE_MS) => live.keyRotation(maxAgeMs),
  };
}

async function orLive<T>(cached: () => T | Promise<T>, live: () => Promise<T>): Promise<T> {
  try {
    return await cached();
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

export interface ClusterWideWatches {
  readonly informers: Pick<Informers, "namespaceObjects" | "workloads" | "serviceAccounts" | "bindings">;
  readonly objects: Pick<OwnWatch<typeof KIND>, "attempted" | "objects">;
  readonly clusterObjects: Pick<OwnWatch<typeof CLUSTER_KIND>, "attempted" | "objects">;
}

/** Returns the watch caches that the loop of ClusterControllerResiliences reads. */
export function clusterWideCaches({ informers, objects, clusterObjects }: ClusterWideWatches): ClusterWideCaches {
  return {
    namespaces: async () => (await informers.namespaceObjects()).views(),
    namespace: async name => (await informers.namespaceObjects()).find("", name),
    workloads: async namespace => {
      const caches = await Promise.all(WORKLOAD_KINDS.map(kind => informers.workloads(kind, namespace)));
      return caches.flatMap(cache => cache.views());
    },
    serviceAccounts: async namespace => (await informers.serviceAccounts(namespace)).views(),
    bindings: (namespace = "") =>
      informers.bindings(namespace === "" ? "ClusterRoleBinding" : "RoleBinding", namespace),
    attempted: async () => {
      await Promise.all([objects.attempted(), clusterObjects.attempted()]);
    },
    objects: namespace => objects.objects(namespace),
    clusterObjects: () => clusterObjects.objects(),
  };
}
