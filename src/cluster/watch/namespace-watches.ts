import { isDeepStrictEqual } from "node:util";
import type { Cancel } from "../../core/clock";
import type { BindingView, PodView, ServiceAccountView } from "../../core/views";
import { type Resource } from "../http/resources";
import { KINDS } from "../../core/kinds";
import type { Delta, Identified } from "./view-cache";
import { bindingView } from "../read/binding-view";
import { podView } from "../read/pod-view";
import { serviceAccountView } from "../read/views";
import { Watch, type WatchContext } from "./watch";

export interface Supervised {
  readonly plural: string;
  readonly watch: Pick<Watch<Identified>, "ageMs" | "stop">;
}

/** The watches of one namespace: pods and ServiceAccounts from the start, RoleBindings from the first read. */
export class NamespaceWatches {
  readonly pods: Watch<PodView>;
  /** Set during the grace period. */
  cancelStop: Cancel | null = null;
  readonly #context: WatchContext;
  readonly #namespace: string;
  readonly #onDelta: (delta: Delta<Identified>) => void;
  readonly #supervised: Supervised[] = [];
  #roleBindings: Watch<BindingView> | null = null;

  /** @param onChange called when an object is added or deleted, or its view changes */
  constructor(context: WatchContext, namespace: string, onChange: () => void) {
    this.#context = context;
    this.#namespace = namespace;
    this.#onDelta = delta => {
      if (isChange(delta)) onChange();
    };
    this.pods = this.#watch<PodView>(KINDS.Pod, podView);
    this.#watch<ServiceAccountView>(KINDS.ServiceAccount, serviceAccountView);
  }

  roleBindings(): Watch<BindingView> {
    return (this.#roleBindings ??= this.#watch(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw)));
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
