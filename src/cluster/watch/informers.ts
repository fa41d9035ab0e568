import type { Cancel } from "../../core/clock";
import { describeError, TransientError } from "../../core/errors";
import type { BindingKind, BindingView, PodView, SandboxEventView } from "../../core/views";
import { isNews, NamespaceWatches, type Supervised } from "./namespace-watches";
import { CORE_EVENTS } from "../http/resources";
import { KINDS } from "../../core/kinds";
import type { Delta, Identified } from "./view-cache";
import { SANDBOX_FAILED, sandboxEventView } from "../read/sandbox-event-view";
import { bindingView } from "../read/views";
import { Watch, type WatchContext } from "./watch";

/** A namespace keeps its watches for this long after its last ControllerResilience is gone, so that a re-creation costs nothing. */
const GRACE_MS = 60_000;

/** How long a first read waits for the cache to fill, before it says that it is not there yet. */
const FIRST_READ_MS = 5_000;

/** How often the age of the oldest cache is measured. */
const AGE_INTERVAL_MS = 10_000;

/**
 * Watches those namespaces that hold a ControllerResilience, and no others; of cluster-scoped objects what somebody has asked for.
 * Each namespace has watches of its own, so one that is forbidden or slow hurts no other.
 */
export class Informers {
  readonly #context: WatchContext;
  readonly #onChange: (namespace: string) => void;
  /** Of which it is to be told when the news that are being read are read: a list may hold thousands, and wakes all objects of a namespace once in each of its turns. */
  readonly #changed = new Set<string>();
  readonly #namespaces = new Map<string, NamespaceWatches>();
  readonly #stopping = new Set<Promise<void>>();
  #clusterRoleBindings: Watch<BindingView> | null = null;
  #sandboxEvents: Watch<SandboxEventView> | null = null;
  /** The namespaces that have asked for them. */
  readonly #sandboxAskers = new Set<string>();
  #cancelAge: Cancel;
  #stopped = false;
  /** Resources whose age was told: what is watched no longer must not stay old for ever. */
  readonly #measured = new Set<string>([KINDS.Pod.plural, KINDS.ServiceAccount.plural]);

  /** @param onChange called with the namespace whenever something in it, or something cluster-scoped that speaks of it, is added, deleted, or changed in what its view holds */
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
    else if (!this.#stopped) {
      const onChange = (): void => this.#tell(namespace);
      this.#namespaces.set(namespace, new NamespaceWatches(this.#context, namespace, onChange));
    }
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
  pods(namespace: string): Promise<readonly PodView[]> {
    return this.#views(`pods of ${namespace}`, () => this.#watching(namespace)?.pods);
  }

  /**
   * The RoleBindings of a namespace, or all ClusterRoleBindings. Asking begins to watch them.
   *
   * @throws as {@link pods}
   */
  bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    if (kind === "RoleBinding") {
      return this.#views(`RoleBindings of ${namespace}`, () => this.#watching(namespace)?.roleBindings());
    }
    // They belong to no namespace, and are let go with the last one.
    return this.#views("ClusterRoleBindings", () => this.#watching(namespace) && this.#watchClusterRoleBindings());
  }

  /**
   * The Events of all namespaces that tell of pods whose sandbox could not be made. Asking begins to watch them, and wakes the namespace
   * when one tells of a rejected credential; they are watched no longer once every namespace that has asked is let go.
   *
   * @throws as {@link pods}
   */
  sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    return this.#views("Events of sandboxes", () => {
      if (this.#watching(namespace) === undefined) return undefined;
      this.#sandboxAskers.add(namespace);
      return this.#watchSandboxEvents();
    });
  }

  /** The node of a pod, as far as it is known: a hint for sharing log reads among kubelets. */
  nodeOf(namespace: string, pod: string): string | undefined {
    const pods = this.#namespaces.get(namespace)?.pods.lastKnown() ?? [];
    return pods.find(({ name }) => name === pod)?.nodeName;
  }

  /** Ends all watches at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelAge();
    for (const namespace of [...this.#namespaces.keys()]) this.#letGo(namespace);
    await Promise.all(this.#stopping);
  }

  #watching(namespace: string): NamespaceWatches | undefined {
    if (!this.#namespaces.has(namespace)) this.ensure(namespace);
    return this.#namespaces.get(namespace);
  }

  #watchClusterRoleBindings(): Watch<BindingView> {
    if (this.#clusterRoleBindings !== null) return this.#clusterRoleBindings;
    const watch = new Watch(this.#context, {
      resource: KINDS.ClusterRoleBinding,
      project: raw => bindingView("ClusterRoleBinding", raw),
      onDelta: delta => this.#tellSubjects(delta),
    });
    watch.start();
    return (this.#clusterRoleBindings = watch);
  }

  #watchSandboxEvents(): Watch<SandboxEventView> {
    if (this.#sandboxEvents !== null) return this.#sandboxEvents;
    const watch = new Watch(this.#context, {
      resource: CORE_EVENTS,
      fieldSelector: `reason=${SANDBOX_FAILED}`,
      withoutBookmarks: true,
      project: sandboxEventView,
      onDelta: delta => {
        if (delta.after?.unauthorized !== true || !isNews(delta)) return;
        for (const namespace of this.#sandboxAskers) this.#tell(namespace);
      },
    });
    watch.start();
    return (this.#sandboxEvents = watch);
  }

  /** A ClusterRoleBinding is the business of the namespaces whose ServiceAccounts it speaks of. */
  #tellSubjects(delta: Delta<BindingView>): void {
    if (!isNews(delta)) return;
    const subjects = [...(delta.before?.subjects ?? []), ...(delta.after?.subjects ?? [])];
    for (const namespace of new Set(subjects.map(subject => subject.namespace))) {
      if (namespace !== undefined && this.#namespaces.has(namespace)) this.#tell(namespace);
    }
  }

  #tell(namespace: string): void {
    if (this.#changed.size === 0) queueMicrotask(() => this.#tellAll());
    this.#changed.add(namespace);
  }

  #tellAll(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const namespace of changed) {
      try {
        this.#onChange(namespace);
      } catch (error) {
        this.#context.log.error({ namespace, error: describeError(error) }, "whoever is told of news failed");
      }
    }
  }

  #letGo(namespace: string): void {
    const watches = this.#namespaces.get(namespace);
    if (watches === undefined) return;
    this.#namespaces.delete(namespace);
    this.#await(watches.stop());
    this.#sandboxAskers.delete(namespace);
    if (this.#sandboxAskers.size === 0 && this.#sandboxEvents !== null) {
      this.#await(this.#sandboxEvents.stop());
      this.#sandboxEvents = null;
    }
    if (this.#namespaces.size > 0 || this.#clusterRoleBindings === null) return;
    this.#await(this.#clusterRoleBindings.stop());
    this.#clusterRoleBindings = null;
  }

  #await(stop: Promise<void>): void {
    const stopping = stop.then(() => void this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }

  async #views<V extends Identified>(what: string, watched: () => Watch<V> | undefined): Promise<readonly V[]> {
    const watch = watched();
    if (watch === undefined) throw new TransientError(`${what}: the operator is stopping`);
    let cancel: Cancel = () => undefined;
    const patience = new Promise<void>(resolve => (cancel = this.#context.clock.after(FIRST_READ_MS, resolve)));
    await Promise.race([watch.attempted(), patience]);
    cancel();
    return watch.views();
  }

  #all(): readonly Supervised[] {
    const [bindings, events] = [this.#clusterRoleBindings, this.#sandboxEvents];
    return [
      ...[...this.#namespaces.values()].flatMap(watches => watches.all()),
      ...(bindings === null ? [] : [{ plural: KINDS.ClusterRoleBinding.plural, watch: bindings }]),
      ...(events === null ? [] : [{ plural: CORE_EVENTS.plural, watch: events }]),
    ];
  }

  #measureAge(): void {
    const { clock, metrics } = this.#context;
    const watched = this.#all();
    for (const { plural } of watched) this.#measured.add(plural);
    for (const plural of this.#measured) {
      const ages = watched.filter(one => one.plural === plural).map(({ watch }) => watch.ageMs());
      metrics.watchAge(plural, Math.max(0, ...ages) / 1000);
    }
    this.#cancelAge = clock.after(AGE_INTERVAL_MS, () => this.#measureAge());
  }
}
