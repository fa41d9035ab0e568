import type { ControllerResilience, MetricsSpec } from "../../api/controller-resilience";
import { KIND } from "../../api/names";
import type { Clock } from "../../core/time";
import type { LeaseReading } from "../../core/leases";
import type { KindQuestion, KindReading, KindWriters } from "../../core/progress";
import type { PodMetricsReading } from "../../core/pod-metrics";
import type { LogRounds, LogReader, Readers, Right, RequestRates } from "../../core/readers";
import type { Log } from "../../core/ports";
import { KeyMemory, type KeyRotation, rotationIn } from "../../core/signing-keys";
import type {
  BindingKind,
  BindingView,
  ClusterKind,
  ClusterObjectView,
  DaemonSetView,
  NamespaceView,
  PodView,
  RoleView,
  SandboxEventView,
  ServiceAccountView,
  WorkloadView,
} from "../../core/views";
import { GoneError } from "../../core/errors";
import { inSlices } from "../../core/slices";
import type { Api } from "../http/api";
import type { Informers } from "../watch/informers";
import { describeCall, listPages, PAGE_SIZE, pathOf, type Place, type Resource } from "../http/resources";
import { projectAll } from "./received";
import { bindingView, clusterObjectView, namespaceView, ownView, roleView, serviceAccountView } from "./views";
import { daemonSetView, workloadView } from "./workload-views";
import { KindReadings, KindWritersReadings } from "../measure/kind-readings";
import { LeaseReadings } from "../measure/lease-readings";
import { PodMetricsReadings, type Scrape } from "../measure/pod-metrics";
import { PublishedKeys } from "../measure/published-keys";
import { RequestCounts } from "../measure/request-counts";
import { Rights } from "./rights";
import { KINDS } from "../../core/kinds";
import { podView } from "./pod-view";

/** Age of the published keys in a pass that may write, in milliseconds: a rotation must be known as the cause before its victims are restarted. */
const FRESH_KEYS_MS = 30_000;

/** What the readers work with. */
export interface ReadersContext {
  readonly clock: Clock;
  readonly api: Api;
  /** What is watched; a program that looks once may list instead. */
  readonly informers: Pick<Informers, "pods" | "bindings" | "sandboxEvents">;
  readonly logs: LogReader;
  readonly rounds: LogRounds;
  /** The operator's user name; absent: unknown. */
  readonly ownUser?: () => Promise<string | undefined>;
  /** The API server's audiences; absent: unknown. */
  readonly apiAudiences?: () => Promise<readonly string[]>;
  readonly keyMemory?: KeyMemory;
  /** Shared with the rounds of logs; absent: its own. */
  readonly requestCounts?: RequestCounts;
  /** Whose rights {@link Readers.may} reviews; absent: those of the client's own credentials. */
  readonly rights?: Pick<Rights, "may">;
  readonly log?: Log;
  /** By how much an API server's clock is ahead, in milliseconds; absent: unknown. */
  readonly clockBehindMs?: () => number;
  /** How pods are asked for their metrics; absent: over the network. */
  readonly scrape?: Scrape | undefined;
  /** Host and port of the API server, as in a URL; absent: unknown. */
  readonly apiHost?: () => Promise<string>;
}

/** Reads pods, bindings and sandbox Events from the watches, and everything else live. */
export class ClusterReaders implements Readers {
  readonly clock: Clock;
  readonly logs: LogReader;
  readonly rounds: LogRounds;
  readonly #api: Api;
  readonly #informers: ReadersContext["informers"];
  readonly #rights: Pick<Rights, "may">;
  readonly #requestCounts: RequestCounts;
  readonly #leases: LeaseReadings;
  readonly #kinds: KindReadings;
  readonly #kindWriters: KindWritersReadings;
  readonly #podMetrics: PodMetricsReadings;
  readonly #ownUser: () => Promise<string | undefined>;
  readonly #apiAudiences: () => Promise<readonly string[]>;
  readonly #clockBehindMs: () => number;
  readonly #keyMemory: KeyMemory;
  readonly #publishedKeys: PublishedKeys;

  constructor(context: ReadersContext) {
    const { clock, api, informers, logs, ownUser, log, keyMemory = new KeyMemory() } = context;
    this.clock = clock;
    this.logs = logs;
    this.rounds = context.rounds;
    this.#api = api;
    this.#informers = informers;
    this.#apiAudiences = context.apiAudiences ?? (() => Promise.resolve([]));
    this.#ownUser = ownUser ?? (() => Promise.resolve(undefined));
    this.#clockBehindMs = context.clockBehindMs ?? (() => 0);
    this.#rights = context.rights ?? new Rights(api, clock);
    this.#requestCounts = context.requestCounts ?? new RequestCounts({ api, clock });
    this.#leases = new LeaseReadings({ api, clock });
    this.#kinds = new KindReadings({ api, clock });
    this.#kindWriters = new KindWritersReadings({ api, clock });
    const { scrape, apiHost } = context;
    this.#podMetrics = new PodMetricsReadings({
      api,
      clock,
      scrape,
      apiHost,
      pods: name => this.pods(name),
    });
    this.#keyMemory = keyMemory;
    this.#publishedKeys = new PublishedKeys({ api, clock, log, memory: keyMemory });
  }

  latestMs(): number {
    return this.clock.now().getTime() + this.#clockBehindMs();
  }

  pods(namespace: string): Promise<readonly PodView[]> {
    return this.#informers.pods(namespace);
  }

  sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]> {
    return this.#informers.sandboxEvents(namespace);
  }

  async objects(namespace: string): Promise<readonly ControllerResilience[]> {
    const views = await this.#list(KINDS.ControllerResilience, { namespace }, raw => ownView(KIND, raw));
    return views.map(({ object }) => object);
  }

  podsOnNode(node: string): Promise<readonly PodView[]> {
    return this.#list(KINDS.Pod, {}, podView, `spec.nodeName=${node}`);
  }

  async namespace(name: string): Promise<NamespaceView | null> {
    const raw = await this.#get(KINDS.Namespace, { name });
    return raw === null ? null : namespaceView(raw);
  }

  async workload(kind: WorkloadView["kind"], namespace: string, name: string): Promise<WorkloadView | null> {
    const raw = await this.#get(KINDS[kind], { namespace, name });
    return raw === null ? null : workloadView(kind, raw);
  }

  async daemonSet(namespace: string, name: string): Promise<DaemonSetView | null> {
    const raw = await this.#get(KINDS.DaemonSet, { namespace, name });
    return raw === null ? null : daemonSetView(raw);
  }

  async workloads(kind: WorkloadView["kind"], namespace: string): Promise<readonly WorkloadView[]> {
    return this.#list(KINDS[kind], { namespace }, item => workloadView(kind, item));
  }

  async serviceAccount(namespace: string, name: string): Promise<ServiceAccountView | null> {
    const raw = await this.#get(KINDS.ServiceAccount, { namespace, name });
    return raw === null ? null : serviceAccountView(raw);
  }

  bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    return this.#informers.bindings(kind, namespace);
  }

  async binding(kind: BindingKind, namespace: string, name: string): Promise<BindingView | null> {
    const place = kind === "RoleBinding" ? { namespace, name } : { name };
    const raw = await this.#get(KINDS[kind], place);
    return raw === null ? null : bindingView(kind, raw);
  }

  async role(kind: "Role" | "ClusterRole", namespace: string, name: string): Promise<RoleView | null> {
    const raw = await this.#get(KINDS[kind], kind === "Role" ? { namespace, name } : { name });
    return raw === null ? null : roleView(raw);
  }

  async clusterObjects(kind: ClusterKind): Promise<readonly ClusterObjectView[] | null> {
    try {
      return await this.#list(KINDS[kind], {}, item => clusterObjectView(kind, item));
    } catch (error) {
      // A 404 for a collection means that the API server does not serve the kind.
      if (error instanceof GoneError) return null;
      throw error;
    }
  }

  may(right: Right): Promise<boolean> {
    return this.#rights.may(right);
  }

  apiAudiences(): Promise<readonly string[]> {
    return this.#apiAudiences();
  }

  ownUser(): Promise<string | undefined> {
    return this.#ownUser();
  }

  async keyRotation(maxAgeMs = FRESH_KEYS_MS): Promise<KeyRotation | undefined> {
    await this.#publishedKeys.refresh(maxAgeMs);
    return rotationIn(this.#keyMemory.history);
  }

  async serverWithoutKey(maxAgeMs: number): Promise<string | undefined> {
    await this.#publishedKeys.refresh(maxAgeMs);
    return this.#publishedKeys.lacking;
  }

  requestRates(maxAgeMs: number): Promise<RequestRates> {
    return this.#requestCounts.rates(maxAgeMs);
  }

  leases(namespace: string, maxAgeMs?: number): Promise<LeaseReading> {
    return this.#leases.leases(namespace, maxAgeMs);
  }

  kind(question: KindQuestion): Promise<KindReading> {
    return this.#kinds.kind(question);
  }

  kindWriters(): readonly KindWriters[] | undefined {
    return this.#kindWriters.known();
  }

  podMetrics(pod: PodView, metrics: MetricsSpec): PodMetricsReading {
    return this.#podMetrics.of(pod, metrics);
  }

  /** @throws GoneError if the API server does not serve the resource */
  async #list<V>(
    resource: Resource,
    place: Place,
    project: (item: unknown) => V | null,
    fieldSelector?: string,
  ): Promise<V[]> {
    const views: V[] = [];
    const list = { resource, place, limit: PAGE_SIZE, fieldSelector };
    for await (const { items } of listPages(this.#api, list)) {
      await inSlices(this.clock, projectAll(items, project, views));
    }
    return views;
  }

  #get(resource: Resource, place: Place): Promise<unknown> {
    return this.#api.jsonOrNull({ what: describeCall("get", resource, place), path: pathOf(resource, place) });
  }
}
