import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { ClusterWideCaches } from "../../core/cluster-wide";
import { WORKLOAD_KINDS } from "../../core/kinds";
import type { BindingView, NamespaceView, ServiceAccountView, WorkloadView } from "../../core/views";
import type { AllNamespaces } from "../watch/all-namespaces";
import type { ClusterObjectWatch } from "../watch/cluster-object-watch";
import type { Informers } from "../watch/informers";
import type { ObjectWatch } from "../watch/object-watch";

export interface ClusterWideWatches {
  readonly informers: Pick<Informers, "namespaceObjects" | "onNamespaceObject" | "watchAllNamespaces">;
  readonly objects: Pick<ObjectWatch, "attempted" | "objectsIn">;
  readonly clusterObjects: Pick<ClusterObjectWatch, "attempted" | "objects">;
}

/** The watch caches that the loop of ClusterControllerResiliences reads. Those of all namespaces are watched from the first read on. */
export class InformerCaches implements ClusterWideCaches {
  readonly #watches: ClusterWideWatches;
  readonly #onChange: (namespace: string) => void;
  #all: AllNamespaces | null = null;

  /** @param onChange called with a namespace whose workloads, ServiceAccounts or RoleBindings change, or that changes itself */
  constructor(watches: ClusterWideWatches, onChange: (namespace: string) => void) {
    this.#watches = watches;
    this.#onChange = onChange;
    watches.informers.onNamespaceObject(onChange);
  }

  async namespaces(): Promise<readonly NamespaceView[]> {
    return (await this.#watches.informers.namespaceObjects()).views();
  }

  async namespace(name: string): Promise<NamespaceView | undefined> {
    return (await this.#watches.informers.namespaceObjects()).find("", name);
  }

  async workloads(namespace: string): Promise<readonly WorkloadView[]> {
    const caches = await Promise.all(WORKLOAD_KINDS.map(kind => this.#everywhere().workloads(kind)));
    return caches.flatMap(cache => cache.viewsOf(namespace));
  }

  async serviceAccounts(namespace: string): Promise<readonly ServiceAccountView[]> {
    return (await this.#everywhere().serviceAccounts()).viewsOf(namespace);
  }

  async bindings(namespace?: string): Promise<readonly BindingView[]> {
    if (namespace === undefined) return (await this.#everywhere().bindings("ClusterRoleBinding")).views();
    return (await this.#everywhere().bindings("RoleBinding")).viewsOf(namespace);
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

  release(): void {
    this.#all?.stop();
    this.#all = null;
  }

  #everywhere(): AllNamespaces {
    if (this.#all !== null) return this.#all;
    this.#all = this.#watches.informers.watchAllNamespaces();
    this.#all.onNamespaceChange(this.#onChange);
    return this.#all;
  }
}
