import { hostname } from "node:os";
import cfg from "../package.json";
import { Api, type ApiOptions } from "./cluster/http/api";
import { Connection, loadKubeConfig, locateCluster } from "./cluster/http/connection";
import { ApiEventSink } from "./cluster/write/event-sink";
import { paceFramework } from "./cluster/pepr/framework-pace";
import { Informers } from "./cluster/watch/informers";
import { ApiLeaseStore } from "./cluster/write/lease-store";
import { ApiLogReader } from "./cluster/read/log-reader";
import { ApiObjectStore } from "./cluster/write/object-store";
import { peprStoreNames, readPeprStore } from "./cluster/pepr/pepr-store";
import { ClusterReaders, type ReadersContext } from "./cluster/read/readers";
import { OwnIdentity } from "./cluster/http/own-identity";
import { Reachability } from "./cluster/http/reachability";
import { ServerClock } from "./cluster/http/server-clock";
import { systemClock, systemRandom as random } from "./cluster/system";
import type { Answers, Need } from "./cluster/read/rights";
import { type ErrandPorts, untilDone } from "./cluster/http/until-done";
import { ApiWriter } from "./cluster/write/writer";
import { describeError, framesOf, publicMessage } from "./core/errors";
import type { Log } from "./core/ports";
import { KeyMemory } from "./core/signing-keys";
import { Engine, type EnginePorts } from "./engine/engine";
import { IdentityProbe } from "./engine/lead/identity-probe";
import { startFrameworkOr } from "./cluster/pepr/framework";
import { createRemedies } from "./remedies/registry";
import { allNeeds, reviewRights } from "./rights-review";
import { runsOperator, isWatched, readSettings, type Settings } from "./settings";
import { HealthServer, type HealthServerOptions } from "./telemetry/health-server";
import { createLogger } from "./telemetry/logger";
import { countRepeatedFailures } from "./telemetry/repeated-failures";
import { Metrics } from "./telemetry/metrics";

/** Name of the Lease, in the operator's namespace. */
const LEASE = "controller-resilience";

/** Liveness fails after this many full passes without progress of the loop: only a restart of the process helps then. */
const HUNG_AFTER_PASSES = 5;

/** The least of that, in milliseconds: above all deadlines of one pass together, so that a slow API server never restarts the operator. */
const HUNG_AFTER_MS = 300_000;

/** The process exits after this long at the latest, below the promised five seconds; Kubernetes gives a pod 30 s. */
const STOP_WITHIN_MS = 4_500;

/** Part of it for passes in flight; the rest is for releasing the Lease and for writing the last Events. */
const PASSES_WITHIN_MS = 3_000;

/** What pepr.ts needs of the operator. */
export interface Operator {
  /** Takes `namespace/name` of a ControllerResilience that has changed. */
  readonly enqueue: (key: string) => void;
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
  const log = countRepeatedFailures(createLogger({ level: settings.logLevel, pretty: settings.pretty }), systemClock);
  log.info({ version: cfg.version, server, identity }, "starting");
  const remedies = createRemedies();
  const gauges = remedies.flatMap(remedy => remedy.gauges ?? []);
  const metrics = new Metrics({ processMetrics: true, clock: systemClock, gauges });
  const reportOffset = (seconds: number): void => metrics.clockOffset(seconds);
  // Timestamps of the cluster are compared with the API server's time.
  const clock = new ServerClock(systemClock, { log: () => log, clockOffset: reportOffset });
  const reachability = new Reachability(systemClock);
  const connection = new Connection(() => loadKubeConfig(), systemClock);
  const createApi = apiFactory(connection, clock, reachability);
  const api = createApi();
  const shared = { api, clock, log, metrics, random };
  const informers = new Informers(shared, changed => engine.loop.enqueueNamespace(changed));
  const nodeOf = informers.nodeOf.bind(informers);
  const logs = new ApiLogReader({ api: createApi(), clock, metrics, nodeOf });
  const keyMemory = new KeyMemory();
  const events = new ApiEventSink({ ...shared, instance: identity });
  const isOurs = (key: string): boolean => isWatched(settings, key);
  // With its own client, the probe works while every other call hangs.
  const probed = new OwnIdentity(createApi(), connection, clock);
  const ports: EnginePorts = {
    store: new ApiObjectStore(api, { isOurs, log }),
    // With their own clients, neither slow logs nor reads delay the Lease or a write.
    lease: new ApiLeaseStore(createApi(), { namespace, name: LEASE }),
    writer: new ApiWriter(createApi()),
    readers: new ClusterReaders({ ...shared, ...settings, informers, logs, keyMemory, ...ownFacts(() => probed) }),
    sinceOwnTroubleMs: () => reachability.sinceTroubleMs(),
    ...{ events, remedies, random, log, metrics, keyMemory },
  };
  const loop = { fullPassMs, stopWithinMs: PASSES_WITHIN_MS };
  const engine = new Engine(ports, { ...settings, loop });
  const onDead = (): void => void stop("dead identity", 1);
  const identityProbe = new IdentityProbe({ identity: probed, clock: systemClock, log, onDead });
  const stopping = new AbortController();
  const checks = healthChecks({ engine, identityProbe, reachability, fullPassMs, stopping: stopping.signal });
  const health = new HealthServer({ host, port: settings.healthPort, log, metrics: () => metrics.text(), ...checks });
  const stop = createStop({ log, stopping, identityProbe, engine, informers, events, health, connection });
  const untilStopped: ErrandPorts = { clock: systemClock, random, log, signal: stopping.signal };
  const needs = allNeeds(remedies, { lease: { namespace, name: LEASE }, moduleId: cfg.pepr.uuid, watchNamespaces });
  return {
    // Pepr watches all namespaces.
    enqueue: key => {
      if (isOurs(key)) engine.loop.enqueue(key);
    },
    start: startFramework => {
      handleProcessEvents(log, stop);
      engine.loop.known.onChange(namespaces => informers.setNamespaces(namespaces));
      engine.start();
      identityProbe.start();
      void openHealthPort(health, settings, log);
      void reviewOwnRights(api, needs, untilStopped);
      void startPepr(
        api,
        () => startFrameworkOr(() => void stop("failed to start Pepr", 1), startFramework, log),
        untilStopped,
      );
    },
  };
}

/** What the operator's own credentials show. */
function ownFacts(identity: () => OwnIdentity): Pick<ReadersContext, "ownUser" | "apiAudiences"> {
  return { ownUser: () => identity().user(), apiAudiences: () => identity().audiences() };
}

type Stop = (reason: string, exitCode?: number) => Promise<void>;

/** Each client has its own concurrency limit; all share one connection pool and its credentials. */
function apiFactory(connection: Connection, clock: ServerClock, reachability: Reachability): () => Api {
  const onAnswer: NonNullable<ApiOptions["onAnswer"]> = ({ code, date }, sentAtMs) => {
    reachability.answered(code);
    clock.heard(date, sentAtMs);
  };
  return () => new Api(connection, systemClock, { userAgent: `controller-resilience/${cfg.version}`, onAnswer });
}

function healthChecks(parts: {
  readonly engine: Engine;
  readonly identityProbe: IdentityProbe;
  readonly reachability: Reachability;
  readonly fullPassMs: number;
  readonly stopping: AbortSignal;
}): Pick<HealthServerOptions, "health" | "readiness"> {
  const { engine, identityProbe, reachability, fullPassMs, stopping } = parts;
  const hungAfterMs = Math.max(HUNG_AFTER_PASSES * fullPassMs, HUNG_AFTER_MS);
  const loopTrouble = (): string | null => {
    const sinceMs = engine.loop.sinceProgressMs();
    return sinceMs <= hungAfterMs ? null : `no progress for ${Math.round(sinceMs / 1000)} s`;
  };
  return {
    health: [{ name: "loop", trouble: loopTrouble }],
    readiness: [
      { name: "not-stopping", trouble: () => (stopping.aborted ? "shutting down" : null) },
      { name: "lease", trouble: () => engine.elector.failure() },
      { name: "objects", trouble: () => engine.loop.fullPassFailure() },
      { name: "identity", trouble: () => identityProbe.failure() },
      { name: "api-server", trouble: () => reachability.trouble() },
    ],
  };
}

function createStop(parts: {
  readonly log: Log;
  readonly stopping: AbortController;
  readonly identityProbe: IdentityProbe;
  readonly engine: Engine;
  readonly informers: Informers;
  readonly events: ApiEventSink;
  readonly health: HealthServer;
  readonly connection: Connection;
}): Stop {
  const { log, stopping, identityProbe, engine, informers, events, health, connection } = parts;
  return async (reason, exitCode = 0) => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    log.info({ reason }, "stopping");
    identityProbe.stop();
    systemClock.after(STOP_WITHIN_MS, () => {
      log.error({ withinMs: STOP_WITHIN_MS }, "shutdown timed out");
      process.exit(1);
    });
    await engine.stop();
    await Promise.allSettled([informers.stop(), events.stop(500), health.stop()]);
    connection.close();
    log.info({}, "stopped");
    process.exit(exitCode);
  };
}

async function openHealthPort(health: HealthServer, settings: Settings, log: Log): Promise<void> {
  const { healthHost: host, healthPort } = settings;
  try {
    const port = await health.start();
    log.info({ host, port }, "health port is open");
  } catch (error) {
    log.error({ host, port: healthPort, error: describeError(error) }, "failed to open the health port");
    process.exit(1);
  }
}

async function reviewOwnRights(api: Api, needs: readonly Need[], ports: ErrandPorts): Promise<void> {
  const answers: Answers = new Map();
  const work = (): Promise<void> => reviewRights(api, needs, ports.log, answers);
  await untilDone({ work, failed: "failed to review the operator's rights, retrying" }, ports);
}

/** Pepr reads its store once, when it starts, and never watches if that read fails. Hence it starts as soon as the store is readable. */
async function startPepr(api: Api, start: () => void, ports: ErrandPorts): Promise<void> {
  paceFramework(systemClock, ports.log);
  const [store = ""] = peprStoreNames(cfg.pepr.uuid);
  const failed = "failed to read Pepr's store, retrying; until then only the timed full pass sees changes of objects";
  if (await untilDone({ work: () => readPeprStore(api, store), failed }, ports)) start();
}

/** Replaces any handlers that a framework has registered. */
function handleProcessEvents(log: Log, stop: Stop): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => void stop(signal));
  }
  // A rejection that no code awaits, such as one in a framework's watch, does not break the operator's state; an exception may.
  process.on("unhandledRejection", reason => {
    log.error({ error: publicMessage(reason), stack: framesOf(reason) }, "unhandled promise rejection");
  });
  process.on("uncaughtException", error => {
    log.error({ error: publicMessage(error), stack: framesOf(error) }, "uncaught exception");
    process.exit(1);
  });
}
