import { isDeepStrictEqual } from "node:util";
import type { Cancel } from "../core/clock";
import { TransientError } from "../core/errors";
import type { PodView, ServiceAccountView } from "../core/views";
import { RESOURCES } from "./resources";
import type { Delta } from "./view-cache";
import { podView, serviceAccountView } from "./views";
import { Watch, type WatchContext } from "./watch";

/** A namespace keeps its watches for this long after its last ControllerResilience is gone, so that a re-creation costs nothing. */
const GRACE_MS = 60_000;

/** How long a first read waits for the cache to fill, before it says that it is not there yet. */
const FIRST_READ_MS = 5_000;

/** How often the age of the oldest cache is measured. */
const AGE_INTERVAL_MS = 10_000;

interface NamespaceWatches {
  readonly pods: Watch<PodView>;
  readonly serviceAccounts: Watch<ServiceAccountView>;
  /** Set during the grace period. */
  cancelStop: Cancel | null;
}

/**
 * Watches the pods and ServiceAccounts of those namespaces that hold a ControllerResilience, and no others. Each namespace has
 * watches of its own, so one that is forbidden or slow hurts no other.
 */
export class Informers {
  readonly #context: WatchContext;
  readonly #onChange: (namespace: string) => void;
  readonly #namespaces = new Map<string, NamespaceWatches>();
  readonly #stopping = new Set<Promise<void>>();
  #cancelAge: Cancel;
  #stopped = false;

  /** @param onChange called with the namespace whenever one of its pods or ServiceAccounts is added, deleted, or changed in what its view holds */
  constructor(context: WatchContext, onChange: (namespace: string) => void) {
    this.#context = context;
    this.#onChange = onChange;
    this.#cancelAge = context.clock.after(AGE_INTERVAL_MS, () => this.#measureAge());
  }

  /** Watches exactly these namespaces from now on; those that left are let go after a grace period. Cheap when nothing changed. */
  setNamespaces(wanted: ReadonlySet<string>): void {
    for (const namespace of wanted) this.ensure(namespace);
    for (const [namespace, watches] of this.#namespaces) {
      if (wanted.has(namespace) || watches.cancelStop !== null) continue;
      watches.cancelStop = this.#context.clock.after(GRACE_MS, () => this.#letGo(namespace));
    }
  }

  /** Watches this namespace too, until {@link setNamespaces} says otherwise. */
  ensure(namespace: string): void {
    const watches = this.#namespaces.get(namespace);
    watches?.cancelStop?.();
    if (watches !== undefined) watches.cancelStop = null;
    else if (!this.#stopped) this.#begin(namespace);
  }

  /** The namespaces that are watched now, those in their grace period included. */
  namespaces(): string[] {
    return [...this.#namespaces.keys()];
  }

  /**
   * The pods of a namespace. Asking for one that is not watched begins to watch it.
   *
   * @throws ForbiddenError while listing is forbidden, TransientError until the cache is filled or when it is too old
   */
  async pods(namespace: string): Promise<readonly PodView[]> {
    if (!this.#namespaces.has(namespace)) this.ensure(namespace);
    const watch = this.#namespaces.get(namespace)?.pods;
    if (watch === undefined) throw new TransientError(`pods of ${namespace}: the operator is stopping`);
    await this.#firstAttempt(watch);
    return watch.views();
  }

  /** The node of a pod, as far as it is known: a hint for sharing log reads among kubelets. */
  nodeOf(namespace: string, pod: string): string | undefined {
    const pods = this.#namespaces.get(namespace)?.pods.lastKnown() ?? [];
    return pods.find(({ name }) => name === pod)?.nodeName;
  }

  /** What is wrong with the watches, one line each; empty while all is well. */
  troubles(): string[] {
    return [...this.#namespaces.values()]
      .flatMap(watches => [watches.pods.trouble(), watches.serviceAccounts.trouble()])
      .filter(trouble => trouble !== null);
  }

  /** Ends all watches at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelAge();
    for (const namespace of [...this.#namespaces.keys()]) this.#letGo(namespace);
    await Promise.all(this.#stopping);
  }

  #begin(namespace: string): void {
    const onDelta = (delta: Delta<PodView | ServiceAccountView>): void => {
      if (isNews(delta)) this.#onChange(namespace);
    };
    const pods = new Watch(this.#context, { resource: RESOURCES.pods, namespace, project: podView, onDelta });
    const serviceAccounts = new Watch(this.#context, {
      resource: RESOURCES.serviceAccounts,
      namespace,
      project: serviceAccountView,
      onDelta,
    });
    this.#namespaces.set(namespace, { pods, serviceAccounts, cancelStop: null });
    pods.start();
    serviceAccounts.start();
  }

  #letGo(namespace: string): void {
    const watches = this.#namespaces.get(namespace);
    if (watches === undefined) return;
    watches.cancelStop?.();
    this.#namespaces.delete(namespace);
    const stopping = Promise.all([watches.pods.stop(), watches.serviceAccounts.stop()]).then(() => {
      this.#stopping.delete(stopping);
    });
    this.#stopping.add(stopping);
  }

  async #firstAttempt(watch: Watch<PodView>): Promise<void> {
    let cancel: Cancel = () => undefined;
    const patience = new Promise<void>(resolve => (cancel = this.#context.clock.after(FIRST_READ_MS, resolve)));
    await Promise.race([watch.attempted(), patience]);
    cancel();
  }

  #measureAge(): void {
    const { clock, metrics } = this.#context;
    const watches = [...this.#namespaces.values()];
    const oldest = (ages: number[]): number => Math.max(0, ...ages.filter(Number.isFinite)) / 1000;
    metrics.watchAge(RESOURCES.pods.plural, oldest(watches.map(({ pods }) => pods.ageMs())));
    metrics.watchAge(
      RESOURCES.serviceAccounts.plural,
      oldest(watches.map(({ serviceAccounts }) => serviceAccounts.ageMs())),
    );
    this.#cancelAge = clock.after(AGE_INTERVAL_MS, () => this.#measureAge());
  }
}

/** Most changes of a pod are to what no view holds, such as heartbeats in annotations; they wake nobody. */
function isNews({ before, after }: Delta<PodView | ServiceAccountView>): boolean {
  return !isDeepStrictEqual({ ...before, resourceVersion: "" }, { ...after, resourceVersion: "" });
}
