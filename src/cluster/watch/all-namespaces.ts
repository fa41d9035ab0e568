import type { Cancel } from "../../core/clock";
import type { BindingKind, BindingView, ServiceAccountView, WorkloadView } from "../../core/views";
import type { ClusterWatches } from "./cluster-watches";
import type { NamespaceReports } from "./namespace-reports";
import type { NamespacedWatches } from "./namespaced-watches";
import type { Identified } from "./view-cache";
import type { AllCache } from "./watch";

export interface AllNamespacesContext {
  readonly namespaced: NamespacedWatches;
  readonly cluster: Pick<ClusterWatches, "clusterRoleBindings">;
  readonly changes: NamespaceReports;
  /** Waits for the first list of a cache, for some seconds. */
  readonly firstRead: <V extends Identified>(what: string, find: () => AllCache<V>) => Promise<AllCache<V>>;
  readonly onStop: (stopped: AllNamespaces) => void;
}

/**
 * Reads workloads, ServiceAccounts and bindings of all namespaces, with a ControllerResilience or not, from one watch per kind, which the
 * first read starts. `viewsOf` and `find` of a cache read one namespace, and cost only as much as that namespace.
 *
 * A read waits some seconds for the first list. It throws ForbiddenError without the permission to list all namespaces, which is asked every
 * ten minutes; so does its cache, and TransientError while it is not filled or stale.
 */
export class AllNamespaces {
  readonly #context: AllNamespacesContext;
  readonly #cancels: Cancel[] = [];

  constructor(context: AllNamespacesContext) {
    this.#context = context;
  }

  workloads(kind: WorkloadView["kind"]): Promise<AllCache<WorkloadView>> {
    return this.#context.firstRead(`${kind}s`, () => this.#context.namespaced.workloads(kind).everywhere());
  }

  serviceAccounts(): Promise<AllCache<ServiceAccountView>> {
    return this.#context.firstRead("ServiceAccounts", () => this.#context.namespaced.serviceAccounts.everywhere());
  }

  /** The namespace of a ClusterRoleBinding is empty. */
  bindings(kind: BindingKind): Promise<AllCache<BindingView>> {
    const { namespaced, cluster, firstRead } = this.#context;
    return firstRead(`${kind}s`, () =>
      kind === "RoleBinding" ? namespaced.roleBindings.everywhere() : cluster.clusterRoleBindings(),
    );
  }

  /**
   * Calls `handler` with each namespace in which the view of a workload, ServiceAccount or RoleBinding changes, or which a changed
   * ClusterRoleBinding names. Only kinds that were read are watched. A first list, and the return of a cache, count as changes.
   */
  onNamespaceChange(handler: (namespace: string) => void): Cancel {
    const { handlers } = this.#context.changes;
    const own = (namespace: string): void => handler(namespace);
    const cancel = (): void => void handlers.delete(own);
    handlers.add(own);
    this.#cancels.push(cancel);
    return cancel;
  }

  /** Ends the subscriptions, and the watches of all namespaces if few have a ControllerResilience. */
  stop(): void {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#context.onStop(this);
  }
}
