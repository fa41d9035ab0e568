import { OWNER_ANNOTATION } from "../../api/names";
import { GoneError } from "../../core/errors";
import { splitKey } from "../../core/key";
import { KINDS } from "../../core/kinds";
import type { BindingView, ClusterKind, ClusterObjectView, SandboxEventView } from "../../core/views";
import { CORE_EVENTS, type Resource } from "../http/resources";
import { bindingView } from "../read/binding-view";
import { clusterObjectView } from "../read/cluster-object-view";
import { SANDBOX_FAILED, sandboxEventView } from "../read/sandbox-event-view";
import { type Delta, type Identified, isChange } from "./view-cache";
import { Watch, type WatchContext } from "./watch";
import type { Supervised } from "./watch-ages";
import type { WatchSubject } from "./watch-subject";

/** A kind that the API server does not serve is not asked for again for this time. */
const UNSERVED_MS = 600_000;

/** The watches over all namespaces and of cluster-scoped objects. Each starts with its first read. */
export class ClusterWatches {
  readonly #context: WatchContext;
  readonly #report: (namespace: string, resource: Resource) => void;
  #bindings: Watch<BindingView> | null = null;
  #events: Watch<SandboxEventView> | null = null;
  /** Namespaces that have read the Events. */
  readonly #eventReaders = new Set<string>();
  readonly #objects = new Map<ClusterKind, Watch<ClusterObjectView>>();
  /** When the API server was last found not to serve a kind, on the monotonic clock. */
  readonly #unservedAtMs = new Map<ClusterKind, number>();

  /** @param report called with each namespace that a change of an object of this resource concerns, watched or not */
  constructor(context: WatchContext, report: (namespace: string, resource: Resource) => void) {
    this.#context = context;
    this.#report = report;
  }

  /** A ClusterRoleBinding concerns the namespaces of its subjects. */
  clusterRoleBindings(): Watch<BindingView> {
    return (this.#bindings ??= this.#start({
      resource: KINDS.ClusterRoleBinding,
      project: raw => bindingView("ClusterRoleBinding", raw),
      onDelta: delta =>
        this.#reportAll(KINDS.ClusterRoleBinding, delta, ({ subjects }) => subjects.map(({ namespace }) => namespace)),
    }));
  }

  /** An Event about a rejected credential concerns every namespace that has read the Events. */
  sandboxEvents(reader: string): Watch<SandboxEventView> {
    this.#eventReaders.add(reader);
    return (this.#events ??= this.#start({
      resource: CORE_EVENTS,
      fieldSelector: `reason=${SANDBOX_FAILED}`,
      withoutBookmarks: true,
      project: sandboxEventView,
      onDelta: delta => {
        if (delta.after?.unauthorized !== true || !isChange(delta)) return;
        for (const namespace of this.#eventReaders) this.#report(namespace, CORE_EVENTS);
      },
    }));
  }

  /**
   * An object of the operator concerns the namespace of its ControllerResilience; the full pass sees changes of the others. Returns null for
   * a kind that the API server did not serve some minutes ago.
   */
  objects(kind: ClusterKind): Watch<ClusterObjectView> | null {
    const known = this.#objects.get(kind);
    if (known !== undefined) return known;
    const unservedAtMs = this.#unservedAtMs.get(kind) ?? -Infinity;
    if (this.#context.clock.monotonicMs() - unservedAtMs < UNSERVED_MS) return null;
    const watch = this.#start<ClusterObjectView>({
      resource: KINDS[kind],
      project: raw => clusterObjectView(kind, raw),
      onDelta: delta => this.#reportAll(KINDS[kind], delta, ({ annotations }) => [ownerNamespaceOf(annotations)]),
    });
    this.#objects.set(kind, watch);
    return watch;
  }

  /** Ends the watch of a kind if `error`, thrown by a read of it, shows that the API server does not serve it. */
  endUnserved(kind: ClusterKind, error: unknown): Promise<void> | undefined {
    if (!(error instanceof Error && error.cause instanceof GoneError)) return undefined;
    const watch = this.#objects.get(kind);
    this.#objects.delete(kind);
    this.#unservedAtMs.set(kind, this.#context.clock.monotonicMs());
    return watch?.stop() ?? Promise.resolve();
  }

  /** Ends the watch of Events with its last reader. */
  async leave(namespace: string): Promise<void> {
    this.#eventReaders.delete(namespace);
    if (this.#eventReaders.size > 0) return;
    const events = this.#events;
    this.#events = null;
    await events?.stop();
  }

  async stop(): Promise<void> {
    const watches = this.all().map(({ watch }) => watch.stop());
    this.#eventReaders.clear();
    this.#events = null;
    this.#bindings = null;
    this.#objects.clear();
    await Promise.all(watches);
  }

  all(): readonly Supervised[] {
    return [
      ...supervised(KINDS.ClusterRoleBinding, this.#bindings),
      ...supervised(CORE_EVENTS, this.#events),
      ...[...this.#objects].flatMap(([kind, watch]) => supervised(KINDS[kind], watch)),
    ];
  }

  #start<V extends Identified>(subject: WatchSubject<V>): Watch<V> {
    const watch = new Watch(this.#context, subject);
    watch.start();
    return watch;
  }

  #reportAll<V extends Identified>(
    resource: Resource,
    delta: Delta<V>,
    concerned: (view: V) => readonly (string | undefined)[],
  ): void {
    if (!isChange(delta)) return;
    const views = [delta.before, delta.after].filter(view => view !== null);
    for (const namespace of new Set(views.flatMap(concerned))) {
      if (namespace !== undefined) this.#report(namespace, resource);
    }
  }
}

function supervised({ plural }: Resource, watch: Supervised["watch"] | null): Supervised[] {
  return watch === null ? [] : [{ plural, watch }];
}

function ownerNamespaceOf(annotations: Readonly<Record<string, string>>): string | undefined {
  const owner = annotations[OWNER_ANNOTATION];
  return owner === undefined ? undefined : splitKey(owner).namespace;
}
