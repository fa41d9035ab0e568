import { isDeepStrictEqual } from "node:util";
import type { Cancel } from "../../core/clock";
import type { BindingView, PodView, ServiceAccountView } from "../../core/views";
import { type Resource } from "../http/resources";
import { KINDS } from "../../core/kinds";
import type { Delta, Identified } from "./view-cache";
import { bindingView, podView, serviceAccountView } from "../read/views";
import { Watch, type WatchContext } from "./watch";

/** What a watch is to those who only look after it. */
export interface Supervised {
  readonly plural: string;
  readonly watch: Pick<Watch<Identified>, "ageMs" | "stop">;
}

/** The watches of one namespace: its pods and ServiceAccounts from the beginning, its RoleBindings once somebody has asked for them. */
export class NamespaceWatches {
  readonly pods: Watch<PodView>;
  /** Set during the grace period. */
  cancelStop: Cancel | null = null;
  readonly #context: WatchContext;
  readonly #namespace: string;
  readonly #onDelta: (delta: Delta<Identified>) => void;
  readonly #supervised: Supervised[] = [];
  #roleBindings: Watch<BindingView> | null = null;

  /** @param onChange called whenever one of its objects is added, deleted, or changed in what its view holds */
  constructor(context: WatchContext, namespace: string, onChange: () => void) {
    this.#context = context;
    this.#namespace = namespace;
    this.#onDelta = delta => {
      if (isNews(delta)) onChange();
    };
    this.pods = this.#begin<PodView>(KINDS.Pod, podView);
    this.#begin<ServiceAccountView>(KINDS.ServiceAccount, serviceAccountView);
  }

  /** Its RoleBindings; watched from the first call on. */
  roleBindings(): Watch<BindingView> {
    return (this.#roleBindings ??= this.#begin(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw)));
  }

  /** All of its watches. */
  all(): readonly Supervised[] {
    return this.#supervised;
  }

  /** Ends all of them. */
  async stop(): Promise<void> {
    this.cancelStop?.();
    await Promise.all(this.#supervised.map(({ watch }) => watch.stop()));
  }

  #begin<V extends Identified>(resource: Resource, project: (raw: unknown) => V | null): Watch<V> {
    const watch = new Watch(this.#context, { resource, namespace: this.#namespace, project, onDelta: this.#onDelta });
    this.#supervised.push({ plural: resource.plural, watch });
    watch.start();
    return watch;
  }
}

/**
 * Most changes of an object are to what no view holds, such as heartbeats in annotations of pods; they wake nobody. Nor does what a new list
 * tells again, which is nearly all of it.
 */
export function isNews({ before, after }: Delta<Identified>): boolean {
  if (before === null || after === null) return true;
  if (before.resourceVersion !== undefined && before.resourceVersion === after.resourceVersion) return false;
  return !isDeepStrictEqual({ ...before, resourceVersion: "" }, { ...after, resourceVersion: "" });
}
