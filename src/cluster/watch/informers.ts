import type { Cancel } from "../../core/clock";
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
import { AllNamespaces } from "./all-namespaces";
import { ClusterWatches } from "./cluster-watches";
import { FIRST_READ_MS, firstRead } from "./first-read";
import { NamespaceObjects } from "./namespace-objects";
import { NamespaceReports } from "./namespace-reports";
import { NamespacedWatches } from "./namespaced-watches";
import type { Identified } from "./view-cache";
import type { WatchCache, WatchContext } from "./watch";
import { type Supervised, WatchAges } from "./watch-ages";
import { WatchScope } from "./watch-scope";

/** A namespace keeps its watches this long after its last ControllerResilience is gone, in case it is recreated. */
const GRACE_MS = 60_000;

/** A watched namespace. */
interface Watched {
  /** Set during the grace period. */
  cancelStop: Cancel | null;
}

/**
 * Watches the namespaces that contain a ControllerResilience, and the cluster-scoped objects that a remedy reads. Each of few namespaces has
 * separate watches, so that a forbidden or slow one does not affect the others; many of them share one watch per kind (docs/adr/0027).
 */
export class Informers {
  readonly #context: WatchContext;
  readonly #reports: NamespaceReports;
  /** For {@link AllNamespaces}. */
  readonly #changes: NamespaceReports;
  readonly #namespaces = new Map<string, Watched>();
  readonly #namespaced: NamespacedWatches;
  readonly #namespaceObjects: NamespaceObjects;
  readonly #cluster: ClusterWatches;
  readonly #readersOfAll = new Set<AllNamespaces>();
  readonly #scope: WatchScope;
  readonly #podScope: WatchScope;
  readonly #stopping = new Set<Promise<void>>();
  readonly #ages: WatchAges;
  #stopped = false;

  /** @param onChange called with a namespace when the view of an object in it, or of a cluster-scoped object that names it, changes */
  constructor(context: WatchContext, onChange: (namespace: string) => void) {
    this.#context = context;
    this.#reports = new NamespaceReports(context.log);
    this.#reports.handlers.add(onChange);
    this.#changes = new NamespaceReports(context.log);
    this.#namespaced = new NamespacedWatches(context, {
      onChange: namespace => this.#reports.report(namespace),
      onAnyChange: namespace => this.#changes.report(namespace),
      onStopping: stopping => this.#await(stopping),
    });
    const reportWatched = (namespace: string): void => {
      if (this.#namespaces.has(namespace)) this.#reports.report(namespace);
    };
    this.#namespaceObjects = new NamespaceObjects(context, reportWatched);
    this.#cluster = new ClusterWatches(context, (namespace, { plural }) => {
      reportWatched(namespace);
      if (plural === KINDS.ClusterRoleBinding.plural) this.#changes.report(namespace);
    });
    this.#scope = new WatchScope(context.clock, scope => {
      const text = scope === "all" ? "watching all namespaces together" : "watching each namespace";
      context.log.info({ namespaces: this.#namespaces.size }, text);
      this.#namespaced.setScope(scope);
    });
    // The pods of all namespaces are never read, so those of unprotected ones cost nothing while few are protected.
    this.#podScope = new WatchScope(context.clock, scope => this.#namespaced.pods.setScope(scope));
    this.#ages = new WatchAges(context, () => this.#all(), [KINDS.Pod.plural, KINDS.ServiceAccount.plural]);
  }

  /** Watches exactly these namespaces; the watches of the others end after a grace period. */
  setNamespaces(wanted: ReadonlySet<string>): void {
    const added = [...wanted].filter(namespace => !this.#namespaces.has(namespace));
    // Many namespaces at once get no separate watches first.
    if (!this.#stopped) this.#updateScope(this.#namespaces.size + added.length);
    for (const namespace of wanted) this.ensure(namespace);
    for (const [namespace, watched] of this.#namespaces) {
      if (wanted.has(namespace) || watched.cancelStop !== null) continue;
      watched.cancelStop = this.#context.clock.after(GRACE_MS, () => this.#stopNamespace(namespace));
    }
  }

  /** Also watches this namespace, until the next {@link setNamespaces}. */
  ensure(namespace: string): void {
    const watched = this.#namespaces.get(namespace);
    watched?.cancelStop?.();
    if (watched !== undefined) watched.cancelStop = null;
    else if (!this.#stopped) {
      this.#namespaces.set(namespace, { cancelStop: null });
      this.#updateScope();
      this.#namespaced.ensure(namespace);
    }
  }

  /** Watches all namespaces, however few contain a ControllerResilience, until `stop` of the result. */
  watchAllNamespaces(): AllNamespaces {
    const all = new AllNamespaces({
      ...{ namespaced: this.#namespaced, cluster: this.#cluster, changes: this.#changes },
      firstRead: async (what, find) => this.#filledSoon(what, () => (this.#stopped ? undefined : find())),
      onStop: stopped => {
        this.#readersOfAll.delete(stopped);
        this.#endUnused();
      },
    });
    this.#readersOfAll.add(all);
    this.#updateScope();
    return all;
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
    const cache = await this.#filledSoon("Namespaces", () => watch);
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
    return (await this.#filled(`pods of ${namespace}`, () => this.#watching(namespace)?.pods.in(namespace))).views();
  }

  /**
   * The RoleBindings of a namespace, or all ClusterRoleBindings. Asking begins to watch them.
   *
   * @throws as {@link pods}
   */
  async bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    return (await this.#filled(`${kind}s`, () => this.#watchBindings(kind, namespace))).views();
  }

  /**
   * Returns the Events about pod sandboxes that failed, of all namespaces. The first read starts the watch, and an Event about a
   * rejected credential reports every namespace that has read them. The watch ends with the watches of the last such namespace.
   *
   * @throws as {@link pods}
   */
  async sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    const watch = () => this.#watching(namespace) && this.#cluster.sandboxEvents(namespace);
    return (await this.#filled("Events about sandboxes", watch)).views();
  }

  // The following caches are for passes that write nothing. A live read can replace each of them, so no read waits once FIRST_READ_MS have
  // passed since the watch was started: a pass that reads five caches that do not fill is late by that time once.

  /** Of one kind and namespace. The first read starts the watch. @throws TransientError while stopping */
  workloads(kind: WorkloadView["kind"], namespace: string): Promise<WatchCache<WorkloadView>> {
    return this.#filledSoon(`${kind}s of ${namespace}`, () => this.#watching(namespace)?.workloads(kind).in(namespace));
  }

  /** As {@link workloads}, and the same watch. */
  daemonSets(namespace: string): Promise<WatchCache<DaemonSetView>> {
    return this.#filledSoon(`DaemonSets of ${namespace}`, () => this.#watching(namespace)?.daemonSets.in(namespace));
  }

  /** As {@link workloads}. */
  serviceAccounts(namespace: string): Promise<WatchCache<ServiceAccountView>> {
    return this.#filledSoon(`ServiceAccounts of ${namespace}`, () =>
      this.#watching(namespace)?.serviceAccounts.in(namespace),
    );
  }

  /** The cache of {@link bindings}. */
  bindingCache(kind: BindingKind, namespace: string): Promise<WatchCache<BindingView>> {
    return this.#filledSoon(`${kind}s`, () => this.#watchBindings(kind, namespace));
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
      return (await this.#filledSoon(`${kind}s`, () => watch)).views();
    } catch (error) {
      const ended = this.#cluster.endUnserved(kind, error);
      if (ended === undefined) throw error;
      this.#await(ended);
      return null;
    }
  }

  /** Returns the node of a pod if it is known: a hint to share log reads among kubelets. */
  nodeOf(namespace: string, pod: string): string | undefined {
    return this.#namespaced.pods.lastKnown(namespace, pod)?.nodeName;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#ages.stop();
    this.#scope.stop();
    this.#podScope.stop();
    for (const namespace of [...this.#namespaces.keys()]) this.#stopNamespace(namespace);
    this.#namespaced.stop();
    this.#await(this.#cluster.stop());
    this.#await(this.#namespaceObjects.stop());
    await Promise.all(this.#stopping);
  }

  #watching(namespace: string): NamespacedWatches | undefined {
    if (!this.#namespaces.has(namespace)) this.ensure(namespace);
    return this.#stopped ? undefined : this.#namespaced;
  }

  #watchBindings(kind: BindingKind, namespace: string): WatchCache<BindingView> | undefined {
    const watches = this.#watching(namespace);
    return kind === "RoleBinding"
      ? watches?.roleBindings.in(namespace)
      : watches && this.#cluster.clusterRoleBindings();
  }

  #updateScope(namespaces = this.#namespaces.size): void {
    this.#scope.update(namespaces, this.#readersOfAll.size > 0);
    this.#podScope.update(namespaces, false);
  }

  #stopNamespace(namespace: string): void {
    const watched = this.#namespaces.get(namespace);
    if (watched === undefined) return;
    watched.cancelStop?.();
    this.#namespaces.delete(namespace);
    this.#namespaced.leave(namespace);
    this.#await(this.#cluster.leave(namespace));
    this.#endUnused();
  }

  /** The watches of cluster-scoped objects end with the last namespace. */
  #endUnused(): void {
    if (this.#namespaces.size + this.#readersOfAll.size === 0) this.#await(this.#cluster.stop());
    if (!this.#stopped) this.#updateScope();
  }

  #await(stop: Promise<void>): void {
    const stopping = stop.then(() => void this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }

  #filledSoon<C extends WatchCache<Identified>>(what: string, find: () => C | undefined): Promise<C> {
    return this.#filled(what, find, FIRST_READ_MS - (find()?.ageMs() ?? 0));
  }

  #filled<C extends WatchCache<Identified>>(what: string, find: () => C | undefined, waitMs?: number): Promise<C> {
    return firstRead(this.#context.clock, what, find, waitMs);
  }

  #all(): readonly Supervised[] {
    return [...this.#namespaced.all(), ...this.#namespaceObjects.all(), ...this.#cluster.all()];
  }
}
