import { KIND } from "../../api/names";
import type { Clock } from "../../core/time";
import type { LogRounds, LogReader, Readers } from "../../core/readers";
import type { Log } from "../../core/ports";
import { KeyMemory, rotationIn } from "../../core/signing-keys";
import { GoneError } from "../../core/errors";
import { inSlices } from "../../core/slices";
import type { Api } from "../http/api";
import type { Informers } from "../watch/informers";
import { callOf, listPages, PAGE_SIZE, type Place, type Resource } from "../http/resources";
import { projectAll } from "./received";
import { bindingView, clusterObjectView, namespaceView, ownView, roleView, serviceAccountView } from "./views";
import { daemonSetView, workloadView } from "./workload-views";
import { EachInstance } from "../measure/instances";
import { KindReadings, kindWriters } from "../measure/kind-readings";
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
  readonly ownNamespace: string;
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

/** Returns the readers: pods, bindings and sandbox Events from the watches, and everything else live. */
export function clusterReaders(context: ReadersContext): Readers {
  const { clock, api, informers, logs, rounds, ownNamespace, clockBehindMs = () => 0 } = context;
  const rights = context.rights ?? new Rights(api, clock);
  return {
    ...{ clock, logs, rounds, ownNamespace },
    latestMs: () => clock.now().getTime() + clockBehindMs(),
    pods: namespace => informers.pods(namespace),
    sandboxEvents: namespace => informers.sandboxEvents(namespace),
    bindings: (kind, namespace) => informers.bindings(kind, namespace),
    may: right => rights.may(right),
    ownUser: context.ownUser ?? (() => Promise.resolve(undefined)),
    apiAudiences: context.apiAudiences ?? (() => Promise.resolve([])),
    ...liveObjects(api, clock),
    ...measurements(context),
  };
}

function liveObjects(api: Api, clock: Clock) {
  type Project<V> = (raw: unknown) => V | null;
  async function get<V>(resource: Resource, place: Place, project: Project<V>): Promise<V | null> {
    const raw = await api.jsonOrNull<unknown>(callOf("get", resource, place));
    return raw === null ? null : project(raw);
  }
  async function list<V>(resource: Resource, project: Project<V>, place: Place = {}, fieldSelector?: string) {
    const views: V[] = [];
    for await (const { items } of listPages(api, { resource, place, fieldSelector, limit: PAGE_SIZE }))
      await inSlices(clock, projectAll(items, project, views));
    return views;
  }
  return {
    async objects(namespace) {
      const views = await list(KINDS.ControllerResilience, raw => ownView(KIND, raw), { namespace });
      return views.map(({ object }) => object);
    },
    podsOnNode: node => list(KINDS.Pod, podView, {}, `spec.nodeName=${node}`),
    namespace: name => get(KINDS.Namespace, { name }, namespaceView),
    workload: (kind, namespace, name) => get(KINDS[kind], { namespace, name }, raw => workloadView(kind, raw)),
    workloads: (kind, namespace) => list(KINDS[kind], raw => workloadView(kind, raw), { namespace }),
    daemonSet: (namespace, name) => get(KINDS.DaemonSet, { namespace, name }, daemonSetView),
    serviceAccount: (namespace, name) => get(KINDS.ServiceAccount, { namespace, name }, serviceAccountView),
    binding: (kind, namespace, name) =>
      get(KINDS[kind], kind === "RoleBinding" ? { namespace, name } : { name }, raw => bindingView(kind, raw)),
    role: (kind, namespace, name) => get(KINDS[kind], kind === "Role" ? { namespace, name } : { name }, roleView),
    // A 404 for a collection means that the API server does not serve the kind.
    clusterObjects: kind =>
      list(KINDS[kind], raw => clusterObjectView(kind, raw)).catch((error: unknown) => {
        if (error instanceof GoneError) return null;
        throw error;
      }),
  } satisfies Partial<Readers>;
}

function measurements(context: ReadersContext) {
  const { api, clock, informers, log, scrape, apiHost, keyMemory: memory = new KeyMemory() } = context;
  const requestCounts = context.requestCounts ?? new RequestCounts({ api, clock });
  const leases = new LeaseReadings({ api, clock });
  const kinds = new KindReadings({ api, clock });
  const writers = kindWriters(api, clock);
  const pods: Readers["pods"] = namespace => informers.pods(namespace);
  const podMetrics = new PodMetricsReadings({ api, clock, scrape, apiHost, pods });
  const each = new EachInstance({ api, clock }, requestCounts.each);
  const publishedKeys = new PublishedKeys({ api, clock, log, memory, each });
  return {
    async keyRotation(maxAgeMs = FRESH_KEYS_MS) {
      await publishedKeys.refresh(maxAgeMs);
      return rotationIn(memory.history);
    },
    async serverWithoutKey(maxAgeMs) {
      await publishedKeys.refresh(maxAgeMs);
      return publishedKeys.lacking;
    },
    requestRates: (maxAgeMs, countedMs) => requestCounts.rates(maxAgeMs, countedMs),
    leases: (namespace, maxAgeMs) => leases.leases(namespace, maxAgeMs),
    kind: question => kinds.kind(question),
    kindWriters: writers,
    podMetrics: (pod, metrics) => podMetrics.of(pod, metrics),
  } satisfies Partial<Readers>;
}
