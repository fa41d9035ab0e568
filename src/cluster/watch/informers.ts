import type { Cancel } from "../../core/clock";
import { describeError, TransientError } from "../../core/errors";
import type { BindingKind, BindingView, PodView, SandboxEventView } from "../../core/views";
import { isChange, NamespaceWatches, type Supervised } from "./namespace-watches";
import { CORE_EVENTS } from "../http/resources";
import { KINDS } from "../../core/kinds";
import type { Delta, Identified } from "./view-cache";
import { SANDBOX_FAILED, sandboxEventView } from "../read/sandbox-event-view";
import { bindingView } from "../read/binding-view";
import { Watch, type WatchContext } from "./watch";

/** A namespace keeps its watches this long after its last ControllerResilience is gone, in case it is recreated. */
const GRACE_MS = 60_000;

/** The first read waits this long for the cache to fill. */
const FIRST_READ_MS = 5_000;

const AGE_INTERVAL_MS = 10_000;

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
  readonly #stopping = new Set<Promise<void>>();
  #clusterRoleBindings: Watch<BindingView> | null = null;
  #sandboxEvents: Watch<SandboxEventView> | null = null;
  /** Namespaces that have read them. */
  readonly #sandboxAskers = new Set<string>();
  #cancelAge: Cancel;
  #stopped = false;
  /** Resources with an exported age, which must become 0 when their watches end. */
  readonly #measured = new Set<string>([KINDS.Pod.plural, KINDS.ServiceAccount.plural]);

  /** @param onChange called with a namespace when the view of an object in it, or of a cluster-scoped object that names it, changes */
  constructor(context: WatchContext, onChange: (namespace: string) => void) {
    this.#context = context;
    this.#onChange = onChange;
    this.#cancelAge = context.clock.after(AGE_INTERVAL_MS, () => this.#measureAge());
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

  /**
   * Returns the pods of a namespace; starts to watch it if necessary.
   *
   * @throws ForbiddenError without the permission to list, TransientError while the cache is not filled or stale
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
    // Their watch ends with that of the last namespace.
    return this.#views("ClusterRoleBindings", () => this.#watching(namespace) && this.#watchClusterRoleBindings());
  }

  /**
   * Returns the Events about pod sandboxes that failed, of all namespaces. The first read starts the watch, and an Event about a
   * rejected credential reports every namespace that has read them. The watch ends with the watches of the last such namespace.
   *
   * @throws as {@link pods}
   */
  sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    return this.#views("Events about sandboxes", () => {
      if (this.#watching(namespace) === undefined) return undefined;
      this.#sandboxAskers.add(namespace);
      return this.#watchSandboxEvents();
    });
  }

  /** Returns the node of a pod if it is known: a hint to share log reads among kubelets. */
  nodeOf(namespace: string, pod: string): string | undefined {
    const pods = this.#namespaces.get(namespace)?.pods.lastKnown() ?? [];
    return pods.find(({ name }) => name === pod)?.nodeName;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelAge();
    for (const namespace of [...this.#namespaces.keys()]) this.#stopNamespace(namespace);
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
      onDelta: delta => this.#reportSubjects(delta),
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
        if (delta.after?.unauthorized !== true || !isChange(delta)) return;
        for (const namespace of this.#sandboxAskers) this.#report(namespace);
      },
    });
    watch.start();
    return (this.#sandboxEvents = watch);
  }

  /** A ClusterRoleBinding concerns the namespaces of its subjects. */
  #reportSubjects(delta: Delta<BindingView>): void {
    if (!isChange(delta)) return;
    const subjects = [...(delta.before?.subjects ?? []), ...(delta.after?.subjects ?? [])];
    for (const namespace of new Set(subjects.map(subject => subject.namespace))) {
      if (namespace !== undefined && this.#namespaces.has(namespace)) this.#report(namespace);
    }
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

  #stopNamespace(namespace: string): void {
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
    const timeout = new Promise<void>(resolve => (cancel = this.#context.clock.after(FIRST_READ_MS, resolve)));
    await Promise.race([watch.attempted(), timeout]);
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
