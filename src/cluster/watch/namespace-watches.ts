import { isDeepStrictEqual } from "node:util";
import type { Cancel } from "../../core/clock";
import type { BindingView, DaemonSetView, PodView, ServiceAccountView, WorkloadView } from "../../core/views";
import { type Resource } from "../http/resources";
import { KINDS } from "../../core/kinds";
import type { Delta, Identified } from "./view-cache";
import { bindingView } from "../read/binding-view";
import { podView } from "../read/pod-view";
import { daemonSetView } from "../read/daemon-set-view";
import { serviceAccountView, workloadView } from "../read/views";
import { Watch, type WatchCache, type WatchContext } from "./watch";
import type { Supervised } from "./watch-ages";

/** The watches of one namespace: pods and ServiceAccounts from the start, RoleBindings and each kind of workload from the first read. */
export class NamespaceWatches {
  readonly pods: Watch<PodView>;
  readonly serviceAccounts: Watch<ServiceAccountView>;
  /** Set during the grace period. */
  cancelStop: Cancel | null = null;
  readonly #context: WatchContext;
  readonly #namespace: string;
  readonly #onDelta: (delta: Delta<Identified>) => void;
  readonly #supervised: Supervised[] = [];
  #roleBindings: Watch<BindingView> | null = null;
  readonly #workloads = new Map<WorkloadView["kind"], Watch<WorkloadView>>();
  #daemonSets: Watch<DaemonSetView> | null = null;

  /** @param onChange called when an object is added or deleted, or its view changes */
  constructor(context: WatchContext, namespace: string, onChange: () => void) {
    this.#context = context;
    this.#namespace = namespace;
    this.#onDelta = delta => {
      if (isChange(delta)) onChange();
    };
    this.pods = this.#watch<PodView>(KINDS.Pod, podView);
    this.serviceAccounts = this.#watch<ServiceAccountView>(KINDS.ServiceAccount, serviceAccountView);
  }

  roleBindings(): Watch<BindingView> {
    return (this.#roleBindings ??= this.#watch(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw)));
  }

  /** DaemonSets have one watch, with the views of {@link daemonSets}. */
  workloads(kind: WorkloadView["kind"]): WatchCache<WorkloadView> {
    if (kind === "DaemonSet") return this.daemonSets();
    const known = this.#workloads.get(kind);
    if (known !== undefined) return known;
    const watch = this.#watch<WorkloadView>(KINDS[kind], raw => workloadView(kind, raw));
    this.#workloads.set(kind, watch);
    return watch;
  }

  daemonSets(): Watch<DaemonSetView> {
    return (this.#daemonSets ??= this.#watch(KINDS.DaemonSet, daemonSetView));
  }

  all(): readonly Supervised[] {
    return this.#supervised;
  }

  async stop(): Promise<void> {
    this.cancelStop?.();
    await Promise.all(this.#supervised.map(({ watch }) => watch.stop()));
  }

  #watch<V extends Identified>(resource: Resource, project: (raw: unknown) => V | null): Watch<V> {
    const watch = new Watch(this.#context, { resource, namespace: this.#namespace, project, onDelta: this.#onDelta });
    this.#supervised.push({ plural: resource.plural, watch });
    watch.start();
    return watch;
  }
}

/**
 * Reports whether a view has changed. Most changes of objects, such as heartbeats in annotations, and most objects of a relist
 * do not change any view, so they do not wake a ControllerResilience.
 */
export function isChange({ before, after }: Delta<Identified>): boolean {
  if (before === null || after === null) return true;
  if (before.resourceVersion !== undefined && before.resourceVersion === after.resourceVersion) return false;
  return !isDeepStrictEqual({ ...before, resourceVersion: "" }, { ...after, resourceVersion: "" });
}
