import { OWNER_ANNOTATION } from "../../api/names";
import { withDeadline } from "../../core/time";
import { describeError, ForbiddenError, GoneError, TransientError } from "../../core/errors";
import { splitKey } from "../../core/text";
import { KINDS } from "../../core/kinds";
import type { Log } from "../../core/ports";
import {
  accountsOf,
  type BindingKind,
  type BindingView,
  type ClusterKind,
  type ClusterObjectView,
  type NamespaceView,
  type PodView,
  type SandboxEventView,
} from "../../core/views";
import { CORE_EVENTS, type Resource } from "../http/resources";
import {
  bindingView,
  clusterObjectView,
  namespaceView,
  serviceAccountView,
  SANDBOX_REASONS,
  sandboxEventView,
} from "../read/views";
import { daemonSetView, workloadView } from "../read/workload-views";
import { podView } from "../read/pod-view";
import { type Delta, type Identified, isChange } from "./view-cache";
import { Watch, type WatchContext, type WatchSubject } from "./watch";

/** Reads wait for the first list of a cache until this time after its start. */
const FIRST_READ_MS = 5_000;

/** What is watched of a kind. */
interface Subject<V> extends Omit<WatchSubject<never>, "namespace" | "project" | "onDelta"> {
  readonly project: (raw: unknown) => V | null;
  /** The namespaces whose passes a change of this view wakes. */
  readonly wakes: (view: V, eventReaders: ReadonlySet<string>) => Iterable<string | undefined>;
  /** A change also concerns what is generated in these namespaces. Absent: it changes too often, or concerns nothing there. */
  readonly isStructure?: true | undefined;
  /** The API server deletes it by age, which wakes no pass. */
  readonly expires?: true;
}

/** What is watched, by kind. An operator with permissions in some namespaces only never gets the one to list Namespaces. */
const SUBJECTS = {
  Pod: { ...subject(KINDS.Pod, podView), isStructure: undefined },
  ServiceAccount: subject(KINDS.ServiceAccount, serviceAccountView),
  Deployment: subject(KINDS.Deployment, raw => workloadView("Deployment", raw)),
  StatefulSet: subject(KINDS.StatefulSet, raw => workloadView("StatefulSet", raw)),
  DaemonSet: subject(KINDS.DaemonSet, daemonSetView),
  RoleBinding: subject(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw)),
  ClusterRoleBinding: {
    ...subject(KINDS.ClusterRoleBinding, raw => bindingView("ClusterRoleBinding", raw)),
    wakes: ({ subjects }: BindingView) => subjects.map(one => splitKey(accountsOf(one) ?? "").namespace),
  },
  Namespace: {
    ...subject(KINDS.Namespace, namespaceView),
    wakes: ({ name }: NamespaceView) => [name],
    givesUp: (error: unknown) => error instanceof ForbiddenError,
  },
  FailedCreatePodSandBox: sandboxEvents("FailedCreatePodSandBox"),
  FailedKillPod: sandboxEvents("FailedKillPod"),
  FlowSchema: clusterObject("FlowSchema"),
  PriorityLevelConfiguration: clusterObject("PriorityLevelConfiguration"),
};

type WatchedKind = keyof typeof SUBJECTS;

/** The view of a kind. DaemonSets have one watch, with a view that others use as that of a workload. */
type ViewOf<K extends WatchedKind> = NonNullable<ReturnType<(typeof SUBJECTS)[K]["project"]>>;

/** Of a kind whose changes concern the namespace of the object. */
function subject<V extends { readonly namespace: string }>(
  resource: Resource,
  project: Subject<V>["project"],
): Subject<V> {
  return { resource, project, wakes: ({ namespace }) => [namespace], isStructure: true };
}

/** A field selector takes one reason. */
function sandboxEvents(reason: (typeof SANDBOX_REASONS)[number]): Subject<SandboxEventView> {
  return {
    ...{ resource: CORE_EVENTS, project: sandboxEventView },
    wakes: ({ unauthorized }, readers) => (unauthorized ? readers : []),
    ...{ fieldSelector: `reason=${reason}`, withoutBookmarks: true, expires: true },
  };
}

/** An object of the operator concerns the namespace of its ControllerResilience; the full pass sees changes of the others. */
function clusterObject(kind: ClusterKind): Subject<ClusterObjectView> {
  const ownerOf = ({ annotations }: ClusterObjectView): string | undefined => annotations[OWNER_ANNOTATION];
  return {
    ...{ resource: KINDS[kind], project: raw => clusterObjectView(kind, raw) },
    wakes: view => [splitKey(ownerOf(view) ?? "").namespace],
    givesUp: error => error instanceof GoneError,
  };
}

/** A watch, and until when reads wait for its first list. */
interface Opened<V extends Identified> {
  readonly watch: Watch<V>;
  readonly ready: Promise<void>;
}

/** The views of a kind, of one namespace or of all. Both throw as a cache does, see {@link Informers}. */
export interface WatchedViews<V> {
  /** The same array until one of them changes. */
  views(): readonly V[];
  find(name: string): V | undefined;
}

/** Called with a namespace when a view that concerns it changes. */
export interface ChangeHandlers {
  /** Wakes the passes of its objects. */
  readonly onWake: (namespace: string) => void;
  /** Of all but pods, Events and cluster-scoped objects of the operator. */
  readonly onStructure?: (namespace: string) => void;
}

/**
 * Everything of the cluster that the operator watches. Each kind has one watch of all namespaces; with `--watch-namespaces`, one of each of
 * these (docs/adr/0027). A watch starts with the first read and lasts until the operator stops.
 *
 * A cache throws ForbiddenError without the permission to list, and TransientError while it is not filled or stale.
 */
export class Informers {
  readonly #context: WatchContext;
  readonly #isTogether: boolean;
  readonly #wakes: NamespaceReports;
  readonly #structure: NamespaceReports;
  /** By kind and namespace; with an empty one for all. */
  readonly #opened = new Map<string, Opened<ViewOf<WatchedKind>>>();
  /** Namespaces that have read the Events. */
  readonly #eventReaders = new Set<string>();
  #stopped = false;

  /** @param namespaces watched one by one; none: all of them together */
  constructor(context: WatchContext, { onWake, onStructure }: ChangeHandlers, namespaces: readonly string[] = []) {
    this.#context = context;
    this.#isTogether = namespaces.length === 0;
    this.#wakes = new NamespaceReports(context.log, onWake);
    this.#structure = new NamespaceReports(context.log, onStructure);
  }

  /**
   * Returns the views of a kind in a namespace; without one, all of them. Waits until the first list has succeeded or failed, and until
   * FIRST_READ_MS after its start at the latest: a pass that reads five caches that do not fill is late by that time once.
   *
   * @throws TransientError while the operator is stopping
   */
  async cache<K extends WatchedKind>(kind: K, namespace = ""): Promise<WatchedViews<ViewOf<K>>> {
    if (this.#stopped) throw new TransientError(`reading ${kind}s: the operator is stopping`);
    const { watch, ready } = this.#open(kind, this.#isTogether ? "" : namespace);
    await ready;
    return {
      views: () => watch.views(namespace),
      find: name => watch.find(namespace, name),
    };
  }

  /** Returns the pods of a namespace. @throws as a cache does */
  async pods(namespace: string): Promise<readonly PodView[]> {
    return (await this.cache("Pod", namespace)).views();
  }

  /** Returns the RoleBindings of a namespace, or all ClusterRoleBindings. @throws as a cache does */
  async bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    return (await this.cache(kind, kind === "RoleBinding" ? namespace : "")).views();
  }

  /**
   * Returns the Events about pod sandboxes that failed, of all namespaces. An Event about a rejected credential reports every namespace that
   * has read them.
   *
   * @throws as a cache does
   */
  async sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    this.#eventReaders.add(namespace);
    const caches = await Promise.all(SANDBOX_REASONS.map(reason => this.cache(reason)));
    return caches.flatMap(cache => cache.views());
  }

  /**
   * Returns all objects of a kind; null if the API server does not serve it, which is asked every ten minutes.
   *
   * @throws as a cache does
   */
  async clusterObjects(kind: ClusterKind): Promise<readonly ClusterObjectView[] | null> {
    const cache = await this.cache(kind);
    try {
      return cache.views();
    } catch (error) {
      if (error instanceof Error && error.cause instanceof GoneError) return null;
      throw error;
    }
  }

  /** Lists everything again, as after a restore of etcd. */
  relist(): void {
    for (const { watch } of this.#opened.values()) watch.relist();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#opened.values()].map(({ watch }) => watch.stop()));
  }

  #open<K extends WatchedKind>(kind: K, namespace: string): Opened<ViewOf<K>> {
    const id = `${kind}/${namespace}`;
    const known = this.#opened.get(id) as Opened<ViewOf<K>> | undefined;
    if (known !== undefined) return known;
    const watched = SUBJECTS[kind] as unknown as Subject<ViewOf<K>>;
    const onDelta = (delta: Delta<ViewOf<K>>): void => {
      if (isChange(delta)) this.#report(delta, watched);
    };
    const watch = new Watch<ViewOf<K>>(this.#context, { ...watched, ...(namespace !== "" && { namespace }), onDelta });
    watch.start();
    const first = withDeadline(this.#context.clock, FIRST_READ_MS, "the first list", () => watch.attempted());
    const opened = { watch, ready: first.catch(() => undefined) };
    this.#opened.set(id, opened as unknown as Opened<ViewOf<WatchedKind>>);
    return opened;
  }

  #report<V>({ before, after }: Delta<V>, { wakes, isStructure, expires }: Subject<V>): void {
    const views = [expires === true ? null : before, after].filter(view => view !== null);
    for (const namespace of new Set(views.flatMap(view => [...wakes(view, this.#eventReaders)]))) {
      this.#wakes.report(namespace);
      if (isStructure === true) this.#structure.report(namespace);
    }
  }
}

/** Reports namespaces in the next microtask: a list of thousands of objects then reports a namespace once per slice. */
class NamespaceReports {
  readonly #log: Log;
  readonly #handler: (namespace: string) => void;
  readonly #changed = new Set<string>();

  constructor(log: Log, handler: (namespace: string) => void = () => undefined) {
    this.#log = log;
    this.#handler = handler;
  }

  report(namespace: string | undefined): void {
    if (!namespace) return;
    if (this.#changed.size === 0) queueMicrotask(() => this.#deliver());
    this.#changed.add(namespace);
  }

  #deliver(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const namespace of changed) {
      try {
        this.#handler(namespace);
      } catch (error) {
        this.#log.error({ namespace, error: describeError(error) }, "namespace change handler threw");
      }
    }
  }
}
