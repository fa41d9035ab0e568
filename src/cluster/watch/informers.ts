import type { Cancel } from "../../core/clock";
import { describeError, TransientError } from "../../core/errors";
import { KINDS } from "../../core/kinds";
import type {
  BindingKind,
  BindingView,
  ClusterKind,
  ClusterObjectView,
  DaemonSetView,
  NamespaceView,
  PodView,
  SandboxEventView,
  ServiceAccountView,
  WorkloadView,
} from "../../core/views";
import { ClusterWatches } from "./cluster-watches";
import { NamespaceObjects } from "./namespace-objects";
import { NamespaceWatches } from "./namespace-watches";
import type { Identified } from "./view-cache";
import type { WatchCache, WatchContext } from "./watch";
import { type Supervised, WatchAges } from "./watch-ages";

/** A namespace keeps its watches this long after its last ControllerResilience is gone, in case it is recreated. */
const GRACE_MS = 60_000;

/** The first read waits this long for the cache to fill. */
const FIRST_READ_MS = 5_000;

/**
 * Watches the namespaces that contain a ControllerResilience, and the cluster-scoped objects that a remedy reads. Each namespace has
 * separate watches, so that a forbidden or slow one does not affect the others.
 */
export class Informers {
  readonly #context: WatchContext;
  readonly #onChange: (namespace: string) => void;
  /** Namespaces to report in the next microtask: a list of thousands of objects then reports a namespace once per slice. */
  readonly #changed = new Set<string>();
  readonly #namespaces = new Map<string, NamespaceWatches>();
  readonly #namespaceObjects: NamespaceObjects;
  readonly #cluster: ClusterWatches;
  readonly #stopping = new Set<Promise<void>>();
  readonly #ages: WatchAges;
  #stopped = false;

  /** @param onChange called with a namespace when the view of an object in it, or of a cluster-scoped object that names it, changes */
  constructor(context: WatchContext, onChange: (namespace: string) => void) {
    this.#context = context;
    this.#onChange = onChange;
    const reportWatched = (namespace: string): void => {
      if (this.#namespaces.has(namespace)) this.#report(namespace);
    };
    this.#namespaceObjects = new NamespaceObjects(context, reportWatched);
    this.#cluster = new ClusterWatches(context, reportWatched);
    this.#ages = new WatchAges(context, () => this.#all(), [KINDS.Pod.plural, KINDS.ServiceAccount.plural]);
  }

  /** Watches exactly these namespaces; the watches of the others end after a grace period. */
  setNamespaces(wanted: ReadonlySet<string>): void {
    for (const namespace of wanted) this.ensure(namespace);
    for (const [namespace, watches] of this.#namespaces) {
      if (wanted.has(namespace) || watches.cancelStop !== null) continue;
      watches.cancelStop = this.#context.clock.after(GRACE_MS, () => this.#stopNamespace(namespace));
    }
  }

  /** Also watches this namespace, until the next {@link setNamespaces}. */
  ensure(namespace: string): void {
    const watches = this.#namespaces.get(namespace);
    watches?.cancelStop?.();
    if (watches !== undefined) watches.cancelStop = null;
    else if (!this.#stopped) {
      const onChange = (): void => this.#report(namespace);
      this.#namespaces.set(namespace, new NamespaceWatches(this.#context, namespace, onChange));
    }
  }

  /** Returns the watched namespaces, including those in their grace period. */
  namespaces(): string[] {
    return [...this.#namespaces.keys()];
  }

  /** Calls `listener` with the name of each Namespace that is added, deleted, or changes its view. */
  onNamespaceObject(listener: (name: string) => void): void {
    this.#namespaceObjects.onChange(listener);
  }

  /**
   * All Namespaces, whether they contain a ControllerResilience or not. The first read starts the watch, which ends with {@link stop}.
   *
   * @throws ForbiddenError without the permission to list them, which is asked every ten minutes; else as {@link workloads}
   */
  async namespaceObjects(): Promise<WatchCache<NamespaceView>> {
    const watch = this.#stopped ? undefined : this.#namespaceObjects.watch();
    const cache = await this.#filledSoon("Namespaces", watch);
    const ended = this.#namespaceObjects.endForbidden();
    if (ended !== undefined) this.#await(ended);
    return cache;
  }

  /**
   * Returns the pods of a namespace; starts to watch it if necessary.
   *
   * @throws ForbiddenError without the permission to list, TransientError while the cache is not filled or stale
   */
  async pods(namespace: string): Promise<readonly PodView[]> {
    return (await this.#filled(`pods of ${namespace}`, this.#watching(namespace)?.pods)).views();
  }

  /**
   * The RoleBindings of a namespace, or all ClusterRoleBindings. Asking begins to watch them.
   *
   * @throws as {@link pods}
   */
  async bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    return (await this.#filled(`${kind}s`, this.#watchBindings(kind, namespace))).views();
  }

  /**
   * Returns the Events about pod sandboxes that failed, of all namespaces. The first read starts the watch, and an Event about a
   * rejected credential reports every namespace that has read them. The watch ends with the watches of the last such namespace.
   *
   * @throws as {@link pods}
   */
  async sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    const watch = this.#watching(namespace) && this.#cluster.sandboxEvents(namespace);
    return (await this.#filled("Events about sandboxes", watch)).views();
  }

  // The following caches are for passes that write nothing. A live read can replace each of them, so no read waits once FIRST_READ_MS have
  // passed since the watch was started: a pass that reads five caches that do not fill is late by that time once.

  /** Of one kind and namespace. The first read starts the watch. @throws TransientError while stopping */
  workloads(kind: WorkloadView["kind"], namespace: string): Promise<WatchCache<WorkloadView>> {
    return this.#filledSoon(`${kind}s of ${namespace}`, this.#watching(namespace)?.workloads(kind));
  }

  /** As {@link workloads}, and the same watch. */
  daemonSets(namespace: string): Promise<WatchCache<DaemonSetView>> {
    return this.#filledSoon(`DaemonSets of ${namespace}`, this.#watching(namespace)?.daemonSets());
  }

  /** As {@link workloads}. */
  serviceAccounts(namespace: string): Promise<WatchCache<ServiceAccountView>> {
    return this.#filledSoon(`ServiceAccounts of ${namespace}`, this.#watching(namespace)?.serviceAccounts);
  }

  /** The cache of {@link bindings}. */
  bindingCache(kind: BindingKind, namespace: string): Promise<WatchCache<BindingView>> {
    return this.#filledSoon(`${kind}s`, this.#watchBindings(kind, namespace));
  }

  /**
   * Returns all objects of a kind; null if the API server does not serve it, which is asked every ten minutes.
   *
   * @throws as {@link pods}
   */
  async clusterObjects(kind: ClusterKind): Promise<readonly ClusterObjectView[] | null> {
    const watch = this.#stopped ? undefined : this.#cluster.objects(kind);
    if (watch === null) return null;
    try {
      return (await this.#filledSoon(`${kind}s`, watch)).views();
    } catch (error) {
      const ended = this.#cluster.endUnserved(kind, error);
      if (ended === undefined) throw error;
      this.#await(ended);
      return null;
    }
  }

  /** Returns the node of a pod if it is known: a hint to share log reads among kubelets. */
  nodeOf(namespace: string, pod: string): string | undefined {
    return this.#namespaces.get(namespace)?.pods.lastKnown(namespace, pod)?.nodeName;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#ages.stop();
    for (const namespace of [...this.#namespaces.keys()]) this.#stopNamespace(namespace);
    this.#await(this.#cluster.stop());
    this.#await(this.#namespaceObjects.stop());
    await Promise.all(this.#stopping);
  }

  #watching(namespace: string): NamespaceWatches | undefined {
    if (!this.#namespaces.has(namespace)) this.ensure(namespace);
    return this.#namespaces.get(namespace);
  }

  #watchBindings(kind: BindingKind, namespace: string): WatchCache<BindingView> | undefined {
    const watches = this.#watching(namespace);
    return kind === "RoleBinding" ? watches?.roleBindings() : watches && this.#cluster.clusterRoleBindings();
  }

  #report(namespace: string): void {
    if (this.#changed.size === 0) queueMicrotask(() => this.#reportChanged());
    this.#changed.add(namespace);
  }

  #reportChanged(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const namespace of changed) {
      try {
        this.#onChange(namespace);
      } catch (error) {
        this.#context.log.error({ namespace, error: describeError(error) }, "namespace change handler threw");
      }
    }
  }

  /** The other watches end with those of the last namespace. */
  #stopNamespace(namespace: string): void {
    const watches = this.#namespaces.get(namespace);
    if (watches === undefined) return;
    this.#namespaces.delete(namespace);
    this.#await(watches.stop());
    this.#await(this.#namespaces.size === 0 ? this.#cluster.stop() : this.#cluster.leave(namespace));
  }

  #await(stop: Promise<void>): void {
    const stopping = stop.then(() => void this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }

  #filledSoon<V extends Identified>(what: string, watch: WatchCache<V> | undefined): Promise<WatchCache<V>> {
    return this.#filled(what, watch, FIRST_READ_MS - (watch?.ageMs() ?? 0));
  }

  async #filled<V extends Identified>(
    what: string,
    watch: WatchCache<V> | undefined,
    waitMs = FIRST_READ_MS,
  ): Promise<WatchCache<V>> {
    if (watch === undefined) throw new TransientError(`${what}: the operator is stopping`);
    if (watch.isAttempted()) return watch;
    let cancel: Cancel = () => undefined;
    const timeout = new Promise<void>(resolve => (cancel = this.#context.clock.after(waitMs, resolve)));
    await Promise.race([watch.attempted(), timeout]);
    cancel();
    return watch;
  }

  #all(): readonly Supervised[] {
    const ofNamespaces = [...this.#namespaces.values()].flatMap(watches => watches.all());
    return [...ofNamespaces, ...this.#namespaceObjects.all(), ...this.#cluster.all()];
  }
}
