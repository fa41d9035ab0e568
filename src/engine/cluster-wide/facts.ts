import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { PROTECT_LABEL } from "../../api/names";
import type { ClusterObjectStore, ClusterWideCaches } from "../../core/ports";
import type { Readers } from "../../core/readers";
import { WORKLOAD_KINDS } from "../../core/kinds";
import {
  accountsOf,
  type BindingView,
  type NamespaceView,
  type ServiceAccountView,
  type WorkloadView,
} from "../../core/views";

/** A workload that may be protected. */
export interface Candidate extends WorkloadView {
  /** Its pods mount a token of the API server. */
  readonly mountsToken: boolean;
  /** It mounts such a token, and some role is bound to its ServiceAccount. */
  readonly usesApi: boolean;
}

/** A spec as the API server stores it: with the defaults of a definition that may be of another version. */
export interface Stored {
  /** The state that was written, in short. */
  readonly state: string;
  readonly spec: unknown;
}

/** Everything that one namespace is judged by. */
export interface Facts {
  readonly namespace: NamespaceView;
  readonly candidates: readonly Candidate[];
  /** All ControllerResiliences of the namespace. */
  readonly objects: readonly ControllerResilience[];
  /** Those that are not being deleted; the first one wins where several select one workload. */
  readonly clusterObjects: readonly ClusterControllerResilience[];
  /** Workloads that are listed and that have gone a moment ago, as `Deployment/web`: they may be replaced just now. Absent: none. */
  readonly vanishing?: ReadonlySet<string>;
  /** What the API server has made of the spec of the last write for each ClusterControllerResilience, by its uid. Absent: nothing is known. */
  readonly stored?: ReadonlyMap<string, Stored>;
  /** The operator's own namespace. */
  readonly ownNamespace: string;
  /** The operator runs with `--mode=Observe`. Absent: it acts. */
  readonly observes?: boolean;
}

/** What is read of the cluster. */
export interface FactsPorts {
  readonly caches: ClusterWideCaches;
  readonly store: ClusterObjectStore;
  /** They read live what takes protection away. */
  readonly readers: Readers;
}

/** Settings of the loop of ClusterControllerResiliences. */
export interface FactsSettings {
  /** The operator's own namespace. */
  readonly ownNamespace: string;
  /** Reports whether the operator watches a namespace. */
  readonly isWatched: (namespace: string) => boolean;
  /** The operator runs with `--mode=Observe`. */
  readonly observes?: boolean;
}

/** Puts together what a namespace is judged by. */
export class FactsReader {
  readonly #ports: FactsPorts;
  readonly #settings: FactsSettings;
  readonly #onChange: (namespaces: Iterable<string>) => void;
  readonly #bound = new BoundAccounts();

  /** @param onChange called with namespaces whose ServiceAccounts are bound by changed bindings elsewhere */
  constructor(ports: FactsPorts, settings: FactsSettings, onChange: (namespaces: Iterable<string>) => void) {
    this.#ports = ports;
    this.#settings = settings;
    this.#onChange = onChange;
  }

  /** Forgets what is counted of bindings. */
  clear(): void {
    this.#bound.clear();
  }

  /** Names of the watched namespaces. */
  async namespaces(): Promise<string[]> {
    const views = await this.#ports.caches.namespaces();
    return views.flatMap(({ name }) => (this.#settings.isWatched(name) ? [name] : [])).sort();
  }

  /** Reads caches; null if there is no such namespace. */
  async cached(name: string): Promise<Facts | null> {
    const { caches } = this.#ports;
    const namespace = await caches.namespace(name);
    if (namespace === undefined || !this.#settings.isWatched(name)) {
      this.#onChange(this.#bound.replace(name, []));
      return null;
    }
    const accounts = await caches.serviceAccounts(name);
    await this.#readBindings(name);
    const workloads = await caches.workloads(name);
    const [objects, clusterObjects] = [caches.objects(name), caches.clusterObjects()];
    return this.#facts({ namespace, workloads, accounts, objects, clusterObjects });
  }

  /** Reads live what may take protection away. */
  async live(cached: Facts): Promise<Facts> {
    const { readers, store, caches } = this.#ports;
    const { name } = cached.namespace;
    const [view, objects, accounts, ...workloads] = await Promise.all([
      readers.namespace(name),
      readers.objects(name),
      caches.serviceAccounts(name),
      ...WORKLOAD_KINDS.map(kind => readers.workloads(kind, name)),
    ]);
    const live = await Promise.all(cached.clusterObjects.map(({ metadata }) => store.get(metadata.name)));
    const namespace = view ?? { ...cached.namespace, deletedAtMs: 0 };
    const clusterObjects = live.filter(object => object !== null);
    return this.#facts({ namespace, workloads: workloads.flat(), accounts, objects, clusterObjects });
  }

  #facts(found: Omit<Found, "ownNamespace" | "observes">): Facts {
    const { ownNamespace, observes = false } = this.#settings;
    return factsOf({ ...found, ownNamespace, observes }, this.#bound);
  }

  /** Other namespaces can be concerned: a binding names ServiceAccounts of any namespace. */
  async #readBindings(namespace: string): Promise<void> {
    const { caches } = this.#ports;
    const changed = new Set([
      ...this.#bound.replace(namespace, await caches.bindings(namespace)),
      ...this.#bound.replace(CLUSTER_ROLE_BINDINGS, await caches.bindings()),
    ]);
    changed.delete(namespace);
    if (changed.size > 0) this.#onChange(changed);
  }
}

/** What {@link Facts} are put together from. */
interface Found extends Omit<Facts, "candidates"> {
  readonly workloads: readonly WorkloadView[];
  readonly accounts: readonly ServiceAccountView[];
}

/** Puts together what a namespace is judged by. Pure. */
export function factsOf({ workloads, accounts, ...found }: Found, bound: Pick<BoundAccounts, "has">): Facts {
  const automounts = new Map(accounts.map(({ name, automount }) => [name, automount ?? true]));
  const candidates = workloads.map((workload): Candidate => {
    const { serviceAccountName: account } = workload;
    const mounts = mountsToken(workload, automounts.get(account));
    return { ...workload, mountsToken: mounts, usesApi: mounts && bound.has(found.namespace.name, account) };
  });
  const live = found.clusterObjects.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return { ...found, candidates, clusterObjects: oldestFirst(live) };
}

/** Sorts them by age, then by name, so that the winner stays the same. */
function oldestFirst(objects: readonly ClusterControllerResilience[]): ClusterControllerResilience[] {
  const rank = ({ metadata }: ClusterControllerResilience): string => `${metadata.creationTimestamp}/${metadata.name}`;
  return objects.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** The audience of the API server, unless its operator has set others, begins with one of these. */
const API_AUDIENCES = ["https://kubernetes.default", "kubernetes.default"];

/** Reports whether the pods of a workload mount a token of the API server. @param accountAutomount automountServiceAccountToken of the ServiceAccount */
export function mountsToken(
  { tokenAudiences = [], automount }: WorkloadView,
  accountAutomount: boolean | undefined,
): boolean {
  const isOfApi = (audience: string): boolean => audience === "" || API_AUDIENCES.some(one => audience.startsWith(one));
  return tokenAudiences.some(isOfApi) || (automount ?? accountAutomount ?? true);
}

/**
 * Returns the value of the label or annotation `controller-resilience.io/protect`: of both false wins, else the label. Undefined: neither true
 * nor false.
 */
export function protectOf({
  labels,
  annotations = {},
}: Pick<WorkloadView, "labels" | "annotations">): boolean | undefined {
  const [label, annotation] = [labels[PROTECT_LABEL], annotations[PROTECT_LABEL]];
  return label === "false" || annotation === "false" ? false : (label ?? annotation) === "true" || undefined;
}

/** Source of the ClusterRoleBindings; RoleBindings have their namespace. */
const CLUSTER_ROLE_BINDINGS = "";

/**
 * Which ServiceAccounts some role is bound to: by name, or by the group of their namespace. The groups of all ServiceAccounts and of all
 * authenticated users do not count, since the defaults of every cluster bind roles to them.
 */
export class BoundAccounts {
  /** What the bindings of each source bind, as `namespace/name`, or `namespace/` for a whole namespace. */
  readonly #bySource = new Map<string, { bindings: readonly BindingView[]; accounts: ReadonlySet<string> }>();
  readonly #counts = new Map<string, number>();

  clear(): void {
    this.#bySource.clear();
    this.#counts.clear();
  }

  has(namespace: string, name: string): boolean {
    return this.#counts.has(`${namespace}/${name}`) || this.#counts.has(`${namespace}/`);
  }

  /**
   * Replaces the bindings of a namespace, or the ClusterRoleBindings. Returns the namespaces whose ServiceAccounts gain or lose one. A cache
   * returns the same array until it changes, so a thousand namespaces do not count all ClusterRoleBindings each.
   *
   * @param source a namespace, or {@link CLUSTER_ROLE_BINDINGS}
   */
  replace(source: string, bindings: readonly BindingView[]): ReadonlySet<string> {
    const changed = new Set<string>();
    const known = this.#bySource.get(source);
    if (known?.bindings === bindings) return changed;
    const before = known?.accounts ?? new Set<string>();
    const after = new Set(bindings.flatMap(({ subjects }) => subjects.flatMap(one => accountsOf(one) ?? [])));
    for (const account of before) if (!after.has(account)) this.#add(account, -1, changed);
    for (const account of after) if (!before.has(account)) this.#add(account, 1, changed);
    if (bindings.length === 0) this.#bySource.delete(source);
    else this.#bySource.set(source, { bindings, accounts: after });
    return changed;
  }

  #add(account: string, by: 1 | -1, changed: Set<string>): void {
    const before = this.#counts.get(account) ?? 0;
    if (before + by === 0) this.#counts.delete(account);
    else this.#counts.set(account, before + by);
    if (before === 0 || before + by === 0) changed.add(account.slice(0, account.indexOf("/")));
  }
}
