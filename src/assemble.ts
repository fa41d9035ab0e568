import cfg from "../package.json";
import { CLUSTER_KIND, KIND } from "./api/names";
import type { KubeConfig } from "@kubernetes/client-node";
import { Api, type ApiOptions } from "./cluster/http/api";
import { ClockOffset, Reachability } from "./cluster/http/answers";
import { Connection, type Send } from "./cluster/http/connection";
import { ownAudiences, ownUser } from "./cluster/http/own-identity";
import { Webhook } from "./cluster/notify/webhook";
import { cachedReaders, clusterWideCaches } from "./cluster/read/cached-readers";
import { ApiLogReader } from "./cluster/read/log-reader";
import type { Scrape } from "./cluster/measure/pod-metrics";
import { RequestCounts } from "./cluster/measure/request-counts";
import { clusterReaders, type ReadersContext } from "./cluster/read/readers";
import { Informers } from "./cluster/watch/informers";
import { OwnWatch } from "./cluster/watch/own-objects";
import type { WatchContext } from "./cluster/watch/watch";
import { ApiObjectStore, clusterObjectStore } from "./cluster/write/object-store";
import { ApiEventSink } from "./cluster/write/event-sink";
import { leaseStore } from "./cluster/write/lease-store";
import { apiWriter } from "./cluster/write/writer";
import type { EventRecord, Key, Log } from "./core/ports";
import type { Remedy, StatusGauge } from "./core/remedy";
import { KeyMemory } from "./core/signing-keys";
import { splitKey } from "./core/text";
import type { Clock, Random } from "./core/time";
import { Engine, type EnginePorts } from "./engine/engine";
import { createStop, healthChecks, type Stop } from "./lifecycle";
import { Rounds } from "./logs/reading/rounds";
import { createRemedies } from "./remedies/registry";
import { isWatched, type Settings } from "./settings";
import type { HealthServerOptions } from "./telemetry/health-server";
import { Metrics } from "./telemetry/metrics";

// Joins all parts of the operator. It takes everything that is outside of it, time, luck and the network too, from its surroundings.

/** Name of the Lease, in the operator's namespace. */
const LEASE = "controller-resilience";

/** Part of it for passes in flight; the rest is for releasing the Lease and for writing the last Events. */
const PASSES_WITHIN_MS = 3_000;

/** What the operator shows of itself: its checks, and its metrics as text. */
export type Pages = Pick<HealthServerOptions, "health" | "readiness" | "metrics">;

/** Everything outside of the operator. */
export interface Surroundings {
  readonly clock: Clock;
  /** For jitter, not for secrets. */
  readonly random: Random;
  readonly log: Log;
  readonly loadKubeConfig: () => KubeConfig;
  /** How requests reach the API servers; over the network by default. */
  readonly send?: Send;
  /** How pods are asked for their metrics; over the network by default. */
  readonly scrape?: Scrape;
  /** Whether the metrics contain those of the process. */
  readonly hasProcessMetrics: boolean;
  /** Serves the pages from `start` on. */
  readonly serve: (pages: Pages) => { start(): void; stop(): Promise<void> };
  /** Ends the process. */
  readonly exit: (code: number) => void;
}

/** The operator, ready to start. */
export interface Assembly {
  /** Requests a pass of an object, unless its namespace is not watched. */
  readonly enqueue: (key: Key) => void;
  readonly stop: Stop;
  start(): void;
}

/** Joins the parts of the operator. Nothing happens before `start`. */
export function assemble(settings: Settings, surroundings: Surroundings): Assembly {
  const { namespace, fullPassMs, watchNamespaces } = settings;
  const { clock, random, log, exit } = surroundings;
  const remedies = createRemedies();
  const metrics = new Metrics({
    processMetrics: surroundings.hasProcessMetrics,
    clock,
    gauges: remedies.flatMap(gaugesOf),
  });
  const onDead = (): void => void stop("dead identity", 1);
  const { reachability, clockOffset, connection, createApi } = createClients(surroundings, metrics, onDead);
  const shared = { api: createApi(), clock, log, metrics, random };
  const onWake = (namespace: string): void => engine.loop.enqueueNamespace(namespace);
  const onStructure = (namespace: string): void => engine.clusterWide.namespaceChanged(namespace);
  const informers = new Informers(shared, { onWake, onStructure }, watchNamespaces);
  const logs = new ApiLogReader({ api: createApi(), clock, metrics });
  const led = { requestPass: (key: string) => engine.loop.enqueue(key), isLeader: () => engine.elector.isLeader() };
  const requestCounts = new RequestCounts({ api: shared.api, clock, settleMs: settings.apiServerSettleMs });
  const rounds = new Rounds({ clock, metrics, refusals: requestCounts, ...led }, settings.logReadsPerSecond);
  const keyMemory = new KeyMemory();
  const events = createEventSink(shared, settings);
  const own = watchOwnObjects({ shared, informers, settings }, () => engine);
  const clockBehindMs = (): number => clockOffset.behindMs();
  const reading = { informers, logs, rounds, keyMemory, requestCounts, clockBehindMs, ...ownFacts(connection) };
  const readers = clusterReaders({
    ...{ ...shared, ...reading },
    ...{ ownNamespace: settings.namespace, scrape: surroundings.scrape },
  });
  const store = new ApiObjectStore(
    shared.api,
    { isOurs: key => isWatched(settings, key), clock, random, log },
    own.objects,
  );
  const ports: EnginePorts = {
    // With their own clients, neither slow logs nor reads delay the Lease or a write.
    lease: leaseStore(createApi(), { namespace, name: LEASE }, () => [informers, own].forEach(one => one.relist())),
    writer: apiWriter(createApi()),
    readers,
    cachedReaders: cachedReaders(readers, informers, own.objects),
    sinceOwnTroubleMs: () => reachability.sinceTroubleMs(),
    clockTrouble: () => clockOffset.trouble(),
    clusterWide: { store: clusterObjectStore(shared.api), ...own.clusterWide },
    ...{ store, events, remedies, random, log, metrics, keyMemory },
  };
  const loop = { fullPassMs, stopWithinMs: PASSES_WITHIN_MS };
  const engine = new Engine(ports, { ...settings, clusterWide: own.scope, loop });
  const stopping = new AbortController();
  const checks = healthChecks({ engine, reachability, stopping: stopping.signal });
  const pages = surroundings.serve({ ...checks, metrics: () => metrics.text() });
  const ended = { engine, informers, own, pages, connection, events };
  const stop = createStop({ clock, log, exit, stopping, ...ended });
  return {
    ...{ enqueue: own.enqueue, stop },
    start: () => {
      own.start();
      engine.start();
      pages.start();
    },
  };
}

function gaugesOf({ gauges = [] }: Remedy): readonly StatusGauge[] {
  return gauges;
}

/** What records Events: the API server, and the webhook if there is one. */
function createEventSink(shared: OwnObjectsContext["shared"], { identity, notify }: Settings) {
  const sinks = [new ApiEventSink({ ...shared, instance: identity })] as (ApiEventSink | Webhook)[];
  if (notify !== undefined) sinks.push(new Webhook(notify, shared));
  return {
    record: (event: EventRecord) => sinks.forEach(sink => sink.record(event)),
    stop: (timeoutMs: number) => Promise.all(sinks.map(sink => sink.stop(timeoutMs))),
  };
}

/** The watches of this project's own objects, and what each change wakes. Both watches of objects, Pepr's and this one, see all namespaces. */
function watchOwnObjects({ shared, informers, settings }: OwnObjectsContext, engine: () => Engine) {
  const changedNamespace = (name: string): void => engine().clusterWide.namespaceChanged(name);
  const enqueue = (key: string): void => {
    if (isWatched(settings, key)) engine().loop.enqueue(key);
    changedNamespace(splitKey(key).namespace);
  };
  const objects = new OwnWatch(shared, KIND, enqueue, key => changedNamespace(splitKey(key).namespace));
  const clusterObjects = new OwnWatch(shared, CLUSTER_KIND, name => engine().clusterWide.objectChanged(name));
  const watches = [objects, clusterObjects];
  const caches = clusterWideCaches({ informers, objects, clusterObjects });
  return {
    ...{ enqueue, objects },
    clusterWide: { caches },
    scope: { ownNamespace: settings.namespace, isWatched: (name: string) => isWatched(settings, `${name}/`) },
    start: () => watches.forEach(watch => watch.start()),
    relist: () => watches.forEach(watch => watch.relist()),
    stop: async () => {
      await Promise.all(watches.map(watch => watch.stop()));
    },
  };
}

interface OwnObjectsContext {
  readonly shared: WatchContext & { readonly api: Api; readonly metrics: Metrics };
  readonly informers: Informers;
  readonly settings: Settings;
}

/** What the operator's own credentials show. */
function ownFacts(connection: Connection): Pick<ReadersContext, "ownUser" | "apiAudiences" | "apiHost"> {
  const apiHost = async (): Promise<string> => {
    const { hostname, port } = (await connection.access()).server;
    return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
  };
  return {
    ownUser: async () => ownUser(await connection.access()),
    apiAudiences: async () => ownAudiences(await connection.access()),
    apiHost,
  };
}

/** Each client has its own concurrency limit; all share one connection pool and its credentials. */
function createClients({ clock, log, loadKubeConfig, send }: Surroundings, metrics: Metrics, onDead: () => void) {
  const clockOffset = new ClockOffset(clock, log, seconds => metrics.show("clock_offset_seconds", seconds));
  const reachability = new Reachability({ clock, log, metrics, onDead });
  const connection = new Connection(loadKubeConfig, clock, { send });
  const onAnswer: NonNullable<ApiOptions["onAnswer"]> = ({ code, date }, sentAtMs) => {
    reachability.answered(code);
    clockOffset.answered(date, sentAtMs);
  };
  const options: ApiOptions = { userAgent: `controller-resilience/${cfg.version}`, onAnswer, metrics };
  const createApi = (): Api => new Api(connection, clock, options);
  return { reachability, clockOffset, connection, createApi };
}
