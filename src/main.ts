import cfg from "../package.json";
import { hostname } from "node:os";
import { Api, type ApiOptions } from "./cluster/http/api";
import { Connection, loadKubeConfig, locateCluster } from "./cluster/http/connection";
import { ApiClusterObjectStore } from "./cluster/write/cluster-object-store";
import { ApiEventSink } from "./cluster/write/event-sink";
import { ClusterObjectWatch, ObjectWatch } from "./cluster/watch/own-objects";
import { Informers } from "./cluster/watch/informers";
import type { WatchContext } from "./cluster/watch/watch";
import { ApiLeaseStore } from "./cluster/write/lease-store";
import { ApiLogReader } from "./cluster/read/log-reader";
import { ApiObjectStore } from "./cluster/write/object-store";
import { CachedReaders, InformerCaches } from "./cluster/read/cached-readers";
import { ClusterReaders, type ReadersContext } from "./cluster/read/readers";
import { OwnIdentity } from "./cluster/http/own-identity";
import { ClockOffset, Reachability } from "./cluster/http/answers";
import { systemClock, systemRandom as random } from "./cluster/system";
import { Webhook } from "./cluster/notify/webhook";
import type { ErrandPorts } from "./cluster/http/retry";
import { ApiWriter } from "./cluster/write/writer";
import { describeError } from "./core/errors";
import { splitKey } from "./core/text";
import type { EventRecord, Log, ObjectVersion } from "./core/ports";
import type { Remedy, StatusGauge } from "./core/remedy";
import { KeyMemory } from "./core/signing-keys";
import { Engine, type EnginePorts } from "./engine/engine";
import { IdentityProbe } from "./engine/lead/identity-probe";
import { startFrameworkOr } from "./cluster/pepr/framework";
import { MissedChanges } from "./cluster/pepr/missed-changes";
import { Rounds } from "./logs/reading/rounds";
import { createRemedies } from "./remedies/registry";
import { createStop, handleProcessEvents, healthChecks, openHealthPort, reviewOwnRights, startPepr } from "./lifecycle";
import { allNeeds } from "./rights-review";
import { runsOperator, isWatched, readSettings, type Settings } from "./settings";
import { HealthServer } from "./telemetry/health-server";
import { countRepeatedFailures, createLogger } from "./telemetry/logger";
import { Metrics } from "./telemetry/metrics";

/** Name of the Lease, in the operator's namespace. */
const LEASE = "controller-resilience";

/** Part of it for passes in flight; the rest is for releasing the Lease and for writing the last Events. */
const PASSES_WITHIN_MS = 3_000;

/** What pepr.ts needs of the operator. */
export interface Operator {
  /** Takes `namespace/name` and the version of a ControllerResilience that has changed. */
  readonly enqueue: (key: string, version: ObjectVersion) => void;
  /**
   * Starts the operator, unless this process only builds the module or serves webhooks. Never throws.
   *
   * @param startFramework called once: as soon as Pepr's store is readable, or immediately in a process that does not run the operator
   */
  start(startFramework: () => void): void;
}

/** Creates the operator. Only this file reads the environment and creates adapters. */
export function createOperator(): Operator {
  if (!runsOperator(process.env)) return { enqueue: () => undefined, start: startFramework => startFramework() };
  let settings: Settings;
  let server: string;
  try {
    const surroundings = { hostname: hostname(), random };
    // Wrong settings are reported even without a cluster.
    readSettings(process.env, surroundings);
    const cluster = locateCluster();
    settings = readSettings(process.env, { ...surroundings, podNamespace: cluster.podNamespace });
    server = cluster.server;
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(2);
  }
  return assemble(settings, server);
}

function assemble(settings: Settings, server: string): Operator {
  const { identity, namespace, fullPassMs, watchNamespaces, healthHost: host } = settings;
  const clock = systemClock;
  const log = countRepeatedFailures(createLogger({ level: settings.logLevel, pretty: settings.pretty }), clock);
  log.info({ version: cfg.version, server, identity, mode: settings.mode }, "starting");
  const remedies = createRemedies();
  const metrics = new Metrics({ processMetrics: true, clock, gauges: remedies.flatMap(gaugesOf) });
  const { reachability, connection, createApi } = createClients(log, metrics);
  const shared = { api: createApi(), clock, log, metrics, random };
  const informers = new Informers(shared, changed => engine.loop.enqueueNamespace(changed), watchNamespaces);
  const logs = new ApiLogReader({ api: createApi(), clock, metrics, nodeOf: informers.nodeOf.bind(informers) });
  const led = { requestPass: (key: string) => engine.loop.enqueue(key), isLeader: () => engine.elector.isLeader() };
  const rounds = new Rounds({ clock, metrics, ...led }, settings.logReadsPerSecond);
  const keyMemory = new KeyMemory();
  const events = createEventSink(shared, settings);
  const own = watchOwnObjects({ shared, informers, settings }, () => engine);
  // With its own client, the probe works while every other call hangs.
  const probed = new OwnIdentity(createApi(), connection, clock);
  const reading = { informers, logs, rounds, keyMemory, ...ownFacts(() => probed) };
  const readers = new ClusterReaders({ ...shared, ...settings, ...reading });
  const store = new ApiObjectStore(shared.api, { isOurs: key => isWatched(settings, key), log }, own.objects);
  const ports: EnginePorts = {
    // With their own clients, neither slow logs nor reads delay the Lease or a write.
    lease: new ApiLeaseStore(createApi(), { namespace, name: LEASE }),
    writer: new ApiWriter(createApi()),
    readers,
    cachedReaders: new CachedReaders(readers, informers),
    sinceOwnTroubleMs: () => reachability.sinceTroubleMs(),
    ...{ store, events, remedies, random, log, metrics, keyMemory, clusterWide: own.clusterWide },
  };
  const loop = { fullPassMs, stopWithinMs: PASSES_WITHIN_MS };
  const engine = new Engine(ports, { ...settings, clusterWide: own.scope, loop });
  const hasAcceptedWithin = reachability.hasAcceptedWithin.bind(reachability);
  const onDead = (): void => void stop("dead identity", 1);
  const probing = { identity: probed, clock, log, metrics, onDead, hasAcceptedWithin };
  const identityProbe = new IdentityProbe(probing);
  const stopping = new AbortController();
  const checks = healthChecks({ engine, identityProbe, reachability, fullPassMs, stopping: stopping.signal });
  const health = new HealthServer({ host, port: settings.healthPort, log, metrics: () => metrics.text(), ...checks });
  const ended = { engine, informers, own, health, connection, events };
  const stop = createStop({ log, stopping, identityProbe, ...ended });
  const untilStopped: ErrandPorts = { clock, random, log, signal: stopping.signal };
  const needs = allNeeds(remedies, { lease: { namespace, name: LEASE }, moduleId: cfg.pepr.uuid, watchNamespaces });
  return {
    enqueue: enqueueMissed(store, own.enqueue),
    start: startFramework => {
      handleProcessEvents(log, stop);
      own.start();
      engine.start();
      identityProbe.start();
      void openHealthPort(health, settings, log);
      void reviewOwnRights(shared.api, needs, untilStopped);
      void startPepr(
        { api: shared.api, moduleId: cfg.pepr.uuid },
        () => startFrameworkOr(() => void stop("failed to start Pepr", 1), startFramework, log),
        untilStopped,
      );
    },
  };
}

/** What Pepr's watch sees wakes only what the operator's own has missed. */
function enqueueMissed(store: ApiObjectStore, enqueue: (key: string) => void): Operator["enqueue"] {
  const missed = new MissedChanges({ clock: systemClock, isSeen: store.hasCached.bind(store), enqueue });
  return missed.add.bind(missed);
}

function gaugesOf({ gauges = [] }: Remedy): readonly StatusGauge[] {
  return gauges;
}

/** What records Events: the API server, and the webhook if there is one. */
function createEventSink(shared: OwnObjectsContext["shared"], { identity, notify }: Settings) {
  const sinks = [new ApiEventSink({ ...shared, instance: identity })] as (ApiEventSink | Webhook)[];
  if (notify !== undefined) sinks.push(new Webhook(notify, { ...shared, random }));
  return {
    record: (event: EventRecord) => sinks.forEach(sink => sink.record(event)),
    stop: (timeoutMs: number) => Promise.all(sinks.map(sink => sink.stop(timeoutMs))),
  };
}

/** The watches of this project's own objects, and what each change wakes. Both watches of objects, Pepr's and this one, see all namespaces. */
function watchOwnObjects({ shared, informers, settings }: OwnObjectsContext, engine: () => Engine) {
  const changedNamespace = (name: string): void => engine().clusterWide?.namespaceChanged(name);
  const enqueue = (key: string): void => {
    if (isWatched(settings, key)) engine().loop.enqueue(key);
    changedNamespace(splitKey(key).namespace);
  };
  const objects = new ObjectWatch(shared, enqueue);
  const clusterObjects = new ClusterObjectWatch(shared, name => engine().clusterWide?.objectChanged(name));
  const caches = new InformerCaches({ informers, objects, clusterObjects }, changedNamespace);
  return {
    ...{ enqueue, objects },
    clusterWide: { store: new ApiClusterObjectStore(shared.api), metrics: shared.metrics, caches },
    scope: { ownNamespace: settings.namespace, isWatched: (name: string) => isWatched(settings, `${name}/`) },
    start: () => {
      objects.start();
      clusterObjects.start();
    },
    stop: async () => {
      await Promise.all([objects.stop(), clusterObjects.stop()]);
    },
  };
}

interface OwnObjectsContext {
  readonly shared: WatchContext & { readonly api: Api; readonly metrics: Metrics };
  readonly informers: Informers;
  readonly settings: Settings;
}

/** What the operator's own credentials show. */
function ownFacts(identity: () => OwnIdentity): Pick<ReadersContext, "ownUser" | "apiAudiences"> {
  return { ownUser: () => identity().user(), apiAudiences: () => identity().audiences() };
}

/** Each client has its own concurrency limit; all share one connection pool and its credentials. */
function createClients(log: Log, metrics: Metrics) {
  const clockOffset = new ClockOffset(systemClock, log, seconds => metrics.clockOffset(seconds));
  const reachability = new Reachability(systemClock);
  const connection = new Connection(() => loadKubeConfig(), systemClock);
  const onAnswer: NonNullable<ApiOptions["onAnswer"]> = ({ code, date }, sentAtMs) => {
    reachability.answered(code);
    clockOffset.answered(date, sentAtMs);
  };
  const options: ApiOptions = { userAgent: `controller-resilience/${cfg.version}`, onAnswer, metrics };
  const createApi = (): Api => new Api(connection, systemClock, options);
  return { reachability, connection, createApi };
}
