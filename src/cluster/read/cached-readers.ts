import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { Clock } from "../../core/time";
import type { ClusterWideCaches } from "../../core/cluster-wide";
import { ForbiddenError, TransientError } from "../../core/errors";
import { WORKLOAD_KINDS } from "../../core/kinds";
import type { LeaseReading } from "../../core/leases";
import type { LogRounds, LogReader, Readers, Right, RequestRates } from "../../core/readers";
import type { KeyRotation } from "../../core/signing-keys";
import type {
  BindingKind,
  BindingView,
  ClusterKind,
  ClusterObjectView,
  DaemonSetView,
  NamespaceView,
  PodView,
  RoleView,
  SandboxEventView,
  ServiceAccountView,
  WorkloadView,
} from "../../core/views";
import type { ClusterObjectWatch, ObjectWatch } from "../watch/own-objects";
import type { Informers } from "../watch/informers";

/**
 * Age of the published keys in a pass that writes nothing, in milliseconds. It is shorter than the time between two full passes by
 * default, which is 54 s at least, so each of them reads the keys. A pod that is younger than the last reading without a new key may hold a token of that key, so that nothing is proven of it.
 */
const KEYS_AGE_MS = 53_000;

/** The watch caches that {@link CachedReaders} reads. */
export type ReadCaches = Pick<
  Informers,
  "namespaceObjects" | "workloads" | "daemonSets" | "serviceAccounts" | "bindingCache" | "clusterObjects"
>;

/**
 * The live readers, with Namespaces, workloads, ServiceAccounts, bindings and cluster-scoped objects from watch caches, for passes that write nothing
 * (docs/adr/0027). Without a cache that can be trusted it reads live.
 */
export class CachedReaders implements Readers {
  readonly clock: Clock;
  readonly logs: LogReader;
  readonly rounds: LogRounds;
  readonly #live: Readers;
  readonly #caches: ReadCaches;

  constructor(live: Readers, caches: ReadCaches) {
    this.clock = live.clock;
    this.logs = live.logs;
    this.rounds = live.rounds;
    this.#live = live;
    this.#caches = caches;
  }

  namespace(name: string): Promise<NamespaceView | null> {
    return orLive(
      async () => (await this.#caches.namespaceObjects()).find("", name) ?? null,
      () => this.#live.namespace(name),
    );
  }

  workload(kind: WorkloadView["kind"], namespace: string, name: string): Promise<WorkloadView | null> {
    return orLive(
      async () => (await this.#caches.workloads(kind, namespace)).find(namespace, name) ?? null,
      () => this.#live.workload(kind, namespace, name),
    );
  }

  workloads(kind: WorkloadView["kind"], namespace: string): Promise<readonly WorkloadView[]> {
    return orLive(
      async () => byName((await this.#caches.workloads(kind, namespace)).views()),
      () => this.#live.workloads(kind, namespace),
    );
  }

  daemonSet(namespace: string, name: string): Promise<DaemonSetView | null> {
    return orLive(
      async () => (await this.#caches.daemonSets(namespace)).find(namespace, name) ?? null,
      () => this.#live.daemonSet(namespace, name),
    );
  }

  serviceAccount(namespace: string, name: string): Promise<ServiceAccountView | null> {
    return orLive(
      async () => (await this.#caches.serviceAccounts(namespace)).find(namespace, name) ?? null,
      () => this.#live.serviceAccount(namespace, name),
    );
  }

  binding(kind: BindingKind, namespace: string, name: string): Promise<BindingView | null> {
    const place = kind === "RoleBinding" ? namespace : "";
    return orLive(
      async () => (await this.#caches.bindingCache(kind, namespace)).find(place, name) ?? null,
      () => this.#live.binding(kind, namespace, name),
    );
  }

  clusterObjects(
    kind: ClusterKind,
    labels?: Readonly<Record<string, string>>,
  ): Promise<readonly ClusterObjectView[] | null> {
    const wanted = Object.entries(labels ?? {});
    const isWanted = (view: ClusterObjectView): boolean => wanted.every(([key, value]) => view.labels[key] === value);
    return orLive(
      async () => {
        const objects = await this.#caches.clusterObjects(kind);
        return objects && byName(objects).filter(isWanted);
      },
      () => this.#live.clusterObjects(kind, labels),
    );
  }

  pods(namespace: string): Promise<readonly PodView[]> {
    return this.#live.pods(namespace);
  }

  sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    return this.#live.sandboxEvents(namespace);
  }

  objects(namespace: string): Promise<readonly ControllerResilience[]> {
    return this.#live.objects(namespace);
  }

  podsOnNode(node: string): Promise<readonly PodView[]> {
    return this.#live.podsOnNode(node);
  }

  bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    return this.#live.bindings(kind, namespace);
  }

  role(kind: "Role" | "ClusterRole", namespace: string, name: string): Promise<RoleView | null> {
    return this.#live.role(kind, namespace, name);
  }

  ownUser(): Promise<string | undefined> {
    return this.#live.ownUser();
  }

  apiAudiences(): Promise<readonly string[]> {
    return this.#live.apiAudiences();
  }

  may(right: Right): Promise<boolean> {
    return this.#live.may(right);
  }

  staleTokens(): Promise<number | null> {
    return this.#live.staleTokens();
  }

  keyRotation(maxAgeMs = KEYS_AGE_MS): Promise<KeyRotation | undefined> {
    return this.#live.keyRotation(maxAgeMs);
  }

  requestRates(maxAgeMs: number): Promise<RequestRates> {
    return this.#live.requestRates(maxAgeMs);
  }

  leases(namespace: string, maxAgeMs?: number): Promise<LeaseReading> {
    return this.#live.leases(namespace, maxAgeMs);
  }
}

async function orLive<T>(cached: () => Promise<T>, live: () => Promise<T>): Promise<T> {
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
  readonly informers: Pick<
    Informers,
    "namespaceObjects" | "workloads" | "serviceAccounts" | "bindings" | "onNamespaceChange"
  >;
  readonly objects: Pick<ObjectWatch, "attempted" | "objectsIn">;
  readonly clusterObjects: Pick<ClusterObjectWatch, "attempted" | "objects">;
}

/** The watch caches that the loop of ClusterControllerResiliences reads. */
export class InformerCaches implements ClusterWideCaches {
  readonly #watches: ClusterWideWatches;

  /** @param onChange called with a namespace whose workloads, ServiceAccounts or RoleBindings change, or that changes itself */
  constructor(watches: ClusterWideWatches, onChange: (namespace: string) => void) {
    this.#watches = watches;
    watches.informers.onNamespaceChange(onChange);
  }

  async namespaces(): Promise<readonly NamespaceView[]> {
    return (await this.#watches.informers.namespaceObjects()).views();
  }

  async namespace(name: string): Promise<NamespaceView | undefined> {
    return (await this.#watches.informers.namespaceObjects()).find("", name);
  }

  async workloads(namespace: string): Promise<readonly WorkloadView[]> {
    const { informers } = this.#watches;
    const caches = await Promise.all(WORKLOAD_KINDS.map(kind => informers.workloads(kind, namespace)));
    return caches.flatMap(cache => cache.views());
  }

  async serviceAccounts(namespace: string): Promise<readonly ServiceAccountView[]> {
    return (await this.#watches.informers.serviceAccounts(namespace)).views();
  }

  bindings(namespace?: string): Promise<readonly BindingView[]> {
    const { informers } = this.#watches;
    return namespace === undefined
      ? informers.bindings("ClusterRoleBinding", "")
      : informers.bindings("RoleBinding", namespace);
  }

  async attempted(): Promise<void> {
    await Promise.all([this.#watches.objects.attempted(), this.#watches.clusterObjects.attempted()]);
  }

  objects(namespace: string): readonly ControllerResilience[] {
    return this.#watches.objects.objectsIn(namespace);
  }

  clusterObjects(): readonly ClusterControllerResilience[] {
    return this.#watches.clusterObjects.objects();
  }
}
