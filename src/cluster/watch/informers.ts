import { OWNER_ANNOTATION } from "../../api/names";
import type { Cancel } from "../../core/time";
import { describeError, ForbiddenError, GoneError, TransientError } from "../../core/errors";
import { splitKey } from "../../core/text";
import { KINDS } from "../../core/kinds";
import type { Log } from "../../core/ports";
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
import { CORE_EVENTS, type Resource } from "../http/resources";
import {
  bindingView,
  clusterObjectView,
  namespaceView,
  serviceAccountView,
  SANDBOX_FAILED,
  sandboxEventView,
} from "../read/views";
import { daemonSetView, workloadView } from "../read/workload-views";
import { podView } from "../read/pod-view";
import { type KindSubject, KindWatches } from "./kind-watches";
import type { Delta, Identified } from "./view-cache";
import type { WatchCache, WatchContext } from "./watch";

/** Reads wait for the first list of a cache until this time after its start. */
const FIRST_READ_MS = 5_000;

/**
 * Everything of the cluster that the operator watches. Each kind has one watch of all namespaces; with `--watch-namespaces`, one of each of
 * these (docs/adr/0027). A watch starts with the first read and lasts until the operator stops.
 *
 * A cache throws ForbiddenError without the permission to list, and TransientError while it is not filled or stale.
 */
export class Informers {
  readonly #context: WatchContext;
  readonly #isTogether: boolean;
  /** Wakes passes. */
  readonly #wakes: NamespaceReports;
  /** The same of everything but pods, which change too often. */
  readonly #changes: NamespaceReports;
  readonly #kinds: Pick<KindWatches<Identified>, "ages" | "stop">[] = [];
  readonly #pods: KindWatches<PodView>;
  readonly #serviceAccounts: KindWatches<ServiceAccountView>;
  readonly #roleBindings: KindWatches<BindingView>;
  readonly #clusterRoleBindings: KindWatches<BindingView>;
  /** DaemonSets have one watch, with these views. */
  readonly #daemonSets: KindWatches<DaemonSetView>;
  readonly #deployments: KindWatches<WorkloadView>;
  readonly #statefulSets: KindWatches<WorkloadView>;
  readonly #namespaceObjects: KindWatches<NamespaceView>;
  readonly #events: KindWatches<SandboxEventView>;
  /** Namespaces that have read the Events. */
  readonly #eventReaders = new Set<string>();
  readonly #clusterObjects = new Map<ClusterKind, KindWatches<ClusterObjectView>>();
  #stopped = false;

  /**
   * @param onChange called with a namespace when the view of an object in it, or of a cluster-scoped object that names it, changes
   * @param namespaces watched one by one; none: all of them together
   */
  constructor(context: WatchContext, onChange: (namespace: string) => void, namespaces: readonly string[] = []) {
    this.#context = context;
    this.#isTogether = namespaces.length === 0;
    this.#wakes = new NamespaceReports(context.log);
    this.#wakes.handlers.add(onChange);
    this.#changes = new NamespaceReports(context.log);
    this.#pods = this.#watchesIn(KINDS.Pod, podView, [this.#wakes]);
    this.#serviceAccounts = this.#watchesIn(KINDS.ServiceAccount, serviceAccountView);
    this.#roleBindings = this.#watchesIn(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw));
    this.#daemonSets = this.#watchesIn(KINDS.DaemonSet, daemonSetView);
    this.#deployments = this.#watchesIn(KINDS.Deployment, raw => workloadView("Deployment", raw));
    this.#statefulSets = this.#watchesIn(KINDS.StatefulSet, raw => workloadView("StatefulSet", raw));
    this.#clusterRoleBindings = this.#watches({
      resource: KINDS.ClusterRoleBinding,
      project: raw => bindingView("ClusterRoleBinding", raw),
      onChange: delta => {
        const reports = [this.#wakes, this.#changes];
        reportAll(delta, ({ subjects }) => subjects.map(({ namespace }) => namespace), reports);
      },
    });
    this.#namespaceObjects = this.#watches(this.#namespaceSubject());
    this.#events = this.#watches({
      ...{ resource: CORE_EVENTS, fieldSelector: `reason=${SANDBOX_FAILED}`, withoutBookmarks: true },
      project: sandboxEventView,
      onChange: ({ after }) => {
        if (after?.unauthorized === true) for (const reader of this.#eventReaders) this.#wakes.report(reader);
      },
    });
    context.metrics.watchAges(() => this.#kinds.flatMap(kind => kind.ages()));
  }

  /**
   * Calls `handler` with each namespace that changes, in which the view of a watched object but a pod changes, or that a changed
   * ClusterRoleBinding names.
   */
  onNamespaceChange(handler: (namespace: string) => void): Cancel {
    this.#changes.handlers.add(handler);
    return () => void this.#changes.handlers.delete(handler);
  }

  /** All Namespaces. Without the permission to list them, which is asked every ten minutes, its cache throws ForbiddenError. */
  namespaceObjects(): Promise<WatchCache<NamespaceView>> {
    return this.#filled("Namespaces", () => this.#namespaceObjects.everywhere());
  }

  /** Returns the pods of a namespace. @throws as a cache does */
  async pods(namespace: string): Promise<readonly PodView[]> {
    return (await this.#filled(`pods of ${namespace}`, () => this.#pods.in(namespace))).views();
  }

  /** Returns the RoleBindings of a namespace, or all ClusterRoleBindings. @throws as a cache does */
  async bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    return (await this.bindingCache(kind, namespace)).views();
  }

  /**
   * Returns the Events about pod sandboxes that failed, of all namespaces. An Event about a rejected credential reports every namespace that
   * has read them.
   *
   * @throws as a cache does
   */
  async sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    this.#eventReaders.add(namespace);
    return (await this.#filled("Events about sandboxes", () => this.#events.everywhere())).views();
  }

  workloads(kind: WorkloadView["kind"], namespace: string): Promise<WatchCache<WorkloadView>> {
    if (kind === "DaemonSet") return this.daemonSets(namespace);
    const watches = kind === "Deployment" ? this.#deployments : this.#statefulSets;
    return this.#filled(`${kind}s of ${namespace}`, () => watches.in(namespace));
  }

  daemonSets(namespace: string): Promise<WatchCache<DaemonSetView>> {
    return this.#filled(`DaemonSets of ${namespace}`, () => this.#daemonSets.in(namespace));
  }

  serviceAccounts(namespace: string): Promise<WatchCache<ServiceAccountView>> {
    return this.#filled(`ServiceAccounts of ${namespace}`, () => this.#serviceAccounts.in(namespace));
  }

  /** The cache of {@link bindings}. */
  bindingCache(kind: BindingKind, namespace: string): Promise<WatchCache<BindingView>> {
    return this.#filled(`${kind}s`, () =>
      kind === "RoleBinding" ? this.#roleBindings.in(namespace) : this.#clusterRoleBindings.everywhere(),
    );
  }

  /**
   * Returns all objects of a kind; null if the API server does not serve it, which is asked every ten minutes.
   *
   * @throws as a cache does
   */
  async clusterObjects(kind: ClusterKind): Promise<readonly ClusterObjectView[] | null> {
    const cache = await this.#filled(`${kind}s`, () => this.#clusterWatches(kind).everywhere());
    try {
      return cache.views();
    } catch (error) {
      if (error instanceof Error && error.cause instanceof GoneError) return null;
      throw error;
    }
  }

  /** Returns the node of a pod if it is known: a hint to share log reads among kubelets. */
  nodeOf(namespace: string, pod: string): string | undefined {
    return this.#pods.lastKnown(namespace, pod)?.nodeName;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#kinds.map(kind => kind.stop()));
  }

  /** A kind with namespaces. */
  #watchesIn<V extends Identified>(
    resource: Resource,
    project: (raw: unknown) => V | null,
    reports: readonly NamespaceReports[] = [this.#wakes, this.#changes],
  ): KindWatches<V> {
    const onChange = (delta: Delta<V>): void => reportAll(delta, ({ namespace }) => [namespace], reports);
    return this.#watches({ resource, project, onChange }, this.#isTogether);
  }

  #watches<V extends Identified>(subject: KindSubject<V>, isTogether = true): KindWatches<V> {
    const watches = new KindWatches(this.#context, subject, { isTogether });
    this.#kinds.push(watches);
    return watches;
  }

  /** An operator with permissions in some namespaces only never gets the one to list Namespaces. */
  #namespaceSubject(): KindSubject<NamespaceView> {
    const { log } = this.#context;
    return {
      ...{ resource: KINDS.Namespace, project: namespaceView },
      onChange: ({ before, after }) => {
        const name = (after ?? before)?.name;
        if (name === undefined) return;
        this.#changes.report(name);
        if ((before?.skip === true) !== (after?.skip === true)) this.#wakes.report(name);
      },
      givesUp: error => {
        if (!(error instanceof ForbiddenError)) return false;
        log.info({}, "may not list namespaces: their annotations and labels are not known");
        return true;
      },
    };
  }

  /** An object of the operator concerns the namespace of its ControllerResilience; the full pass sees changes of the others. */
  #clusterWatches(kind: ClusterKind): KindWatches<ClusterObjectView> {
    const known = this.#clusterObjects.get(kind);
    if (known !== undefined) return known;
    const watches = this.#watches<ClusterObjectView>({
      resource: KINDS[kind],
      project: raw => clusterObjectView(kind, raw),
      onChange: delta => reportAll(delta, ({ annotations }) => [ownerNamespaceOf(annotations)], [this.#wakes]),
      givesUp: error => error instanceof GoneError,
    });
    this.#clusterObjects.set(kind, watches);
    return watches;
  }

  /**
   * Returns a cache once its first list has succeeded or failed, and FIRST_READ_MS after its start at the latest: a pass that reads five
   * caches that do not fill is late by that time once.
   *
   * @throws TransientError while the operator is stopping
   */
  async #filled<C extends WatchCache<Identified>>(what: string, open: () => C): Promise<C> {
    this.#throwIfStopped(what);
    const cache = open();
    if (cache.isAttempted()) return cache;
    let cancel: Cancel = () => undefined;
    const late = new Promise<void>(resolve => {
      cancel = this.#context.clock.after(FIRST_READ_MS - cache.ageMs(), resolve);
    });
    await Promise.race([cache.attempted(), late]);
    cancel();
    this.#throwIfStopped(what);
    return cache;
  }

  #throwIfStopped(what: string): void {
    if (this.#stopped) throw new TransientError(`${what}: the operator is stopping`);
  }
}

function reportAll<V extends Identified>(
  { before, after }: Delta<V>,
  concerned: (view: V) => readonly (string | undefined)[],
  reports: readonly NamespaceReports[],
): void {
  const views = [before, after].filter(view => view !== null);
  for (const namespace of new Set(views.flatMap(concerned)))
    if (namespace !== undefined) for (const each of reports) each.report(namespace);
}

function ownerNamespaceOf(annotations: Readonly<Record<string, string>>): string | undefined {
  const owner = annotations[OWNER_ANNOTATION];
  return owner === undefined ? undefined : splitKey(owner).namespace;
}

/** Reports namespaces in the next microtask: a list of thousands of objects then reports a namespace once per slice. */
class NamespaceReports {
  /** Called with each reported namespace. */
  readonly handlers = new Set<(namespace: string) => void>();
  readonly #log: Log;
  readonly #changed = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  report(namespace: string): void {
    if (this.handlers.size === 0) return;
    if (this.#changed.size === 0) queueMicrotask(() => this.#deliver());
    this.#changed.add(namespace);
  }

  #deliver(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const namespace of changed) for (const handler of this.handlers) this.#call(handler, namespace);
  }

  #call(handler: (namespace: string) => void, namespace: string): void {
    try {
      handler(namespace);
    } catch (error) {
      this.#log.error({ namespace, error: describeError(error) }, "namespace change handler threw");
    }
  }
}
