import { KINDS } from "../../core/kinds";
import type { BindingView, DaemonSetView, PodView, ServiceAccountView, WorkloadView } from "../../core/views";
import { bindingView } from "../read/binding-view";
import { daemonSetView } from "../read/daemon-set-view";
import { podView } from "../read/pod-view";
import { serviceAccountView, workloadView } from "../read/views";
import { type KindListener, KindWatches, type Scope } from "./kind-watches";
import type { WatchContext } from "./watch";
import type { Supervised } from "./watch-ages";

/** The watches of each kind in namespaces: pods and ServiceAccounts from the start, RoleBindings and each kind of workload from the first read. */
export class NamespacedWatches {
  readonly pods: KindWatches<PodView>;
  readonly serviceAccounts: KindWatches<ServiceAccountView>;
  readonly roleBindings: KindWatches<BindingView>;
  /** DaemonSets have one watch, with these views. */
  readonly daemonSets: KindWatches<DaemonSetView>;
  readonly #deployments: KindWatches<WorkloadView>;
  readonly #statefulSets: KindWatches<WorkloadView>;

  /** @param listener not called for pods by `onAnyChange`, since they change too often */
  constructor(context: WatchContext, listener: KindListener) {
    const { onChange, onStopping } = listener;
    const serviceAccount = { resource: KINDS.ServiceAccount, project: serviceAccountView };
    const roleBinding = { resource: KINDS.RoleBinding, project: (raw: unknown) => bindingView("RoleBinding", raw) };
    const workload = (kind: "Deployment" | "StatefulSet"): KindWatches<WorkloadView> =>
      new KindWatches(context, { resource: KINDS[kind], project: raw => workloadView(kind, raw) }, listener);
    this.pods = new KindWatches(context, { resource: KINDS.Pod, project: podView }, { onChange, onStopping });
    this.serviceAccounts = new KindWatches(context, serviceAccount, listener);
    this.roleBindings = new KindWatches(context, roleBinding, listener);
    this.daemonSets = new KindWatches(context, { resource: KINDS.DaemonSet, project: daemonSetView }, listener);
    this.#deployments = workload("Deployment");
    this.#statefulSets = workload("StatefulSet");
  }

  workloads(kind: WorkloadView["kind"]): Pick<KindWatches<WorkloadView>, "in" | "everywhere"> {
    if (kind === "DaemonSet") return this.daemonSets;
    return kind === "Deployment" ? this.#deployments : this.#statefulSets;
  }

  ensure(namespace: string): void {
    this.pods.in(namespace);
    this.serviceAccounts.in(namespace);
  }

  leave(namespace: string): void {
    for (const kind of this.#kinds()) kind.leave(namespace);
  }

  /** Of all kinds but pods. */
  setScope(scope: Scope): void {
    for (const kind of this.#kinds()) if (kind !== this.pods) kind.setScope(scope);
  }

  stop(): void {
    for (const kind of this.#kinds()) kind.stop();
  }

  all(): readonly Supervised[] {
    return this.#kinds().flatMap(kind => kind.all());
  }

  #kinds(): Pick<KindWatches<PodView>, "leave" | "setScope" | "stop" | "all">[] {
    return [
      ...[this.pods, this.serviceAccounts, this.roleBindings],
      ...[this.daemonSets, this.#deployments, this.#statefulSets],
    ];
  }
}
