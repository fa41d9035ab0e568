import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { ClusterWideCaches } from "../../core/cluster-wide";
import { WORKLOAD_KINDS } from "../../core/kinds";
import type { BindingView, NamespaceView, ServiceAccountView, WorkloadView } from "../../core/views";
import type { ClusterObjectWatch } from "../watch/cluster-object-watch";
import type { Informers } from "../watch/informers";
import type { ObjectWatch } from "../watch/object-watch";

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
