import { hostname } from "node:os";
import cfg from "../package.json";
import { Api } from "./cluster/http/api";
import { Connection, loadKubeConfig, placeOf } from "./cluster/http/connection";
import { ApiEventSink } from "./cluster/write/event-sink";
import { paceFramework } from "./cluster/pepr/framework-pace";
import { Informers } from "./cluster/watch/informers";
import { ApiLeaseStore } from "./cluster/write/lease-store";
import { ApiLogReader } from "./cluster/read/log-reader";
import { ApiObjectStore } from "./cluster/write/object-store";
import { peprStoreNames, readPeprStore } from "./cluster/pepr/pepr-store";
import { ClusterReaders } from "./cluster/read/readers";
import { OwnIdentity } from "./cluster/http/own-identity";
import { Reachability } from "./cluster/http/reachability";
import { ServerClock } from "./cluster/http/server-clock";
import { systemClock, systemRandom as random } from "./cluster/system";
import type { Answers } from "./cluster/read/rights";
import { type Errand, untilDone } from "./cluster/http/until-done";
import { ApiWriter } from "./cluster/write/writer";
import { describeError, framesOf, publicMessage } from "./core/errors";
import type { Log } from "./core/ports";
import { Engine } from "./engine/engine";
import { IdentityProbe } from "./engine/lead/identity-probe";
import { startFrameworkOr } from "./cluster/pepr/framework";
import { createRemedies } from "./remedies/registry";
import { allNeeds, reviewRights } from "./rights-review";
import { isToRun, looksAfter, readSettings, type Settings } from "./settings";
import { HealthServer } from "./telemetry/health-server";
import { createLogger } from "./telemetry/logger";
import { Metrics } from "./telemetry/metrics";

/** Name of the Lease, in the operator's namespace. */
const LEASE = "controller-resilience";

/** A loop that has not turned for this many full passes hangs; only a restart of the process would help. */
const HUNG_AFTER_PASSES = 5;

/** However often full passes are: above all deadlines of one pass together, in milliseconds, since an API server that is slow is no reason to be restarted. */
const HUNG_AFTER_MS = 300_000;

/** Under five seconds are promised, so it ends a bit earlier whatever hangs, also where it has to wait for a processor; Kubernetes gives a pod 30 s. */
const STOP_WITHIN_MS = 4_500;

/** Of that for passes in flight: the rest is for handing the Lease back and for what is still to be told. */
const PASSES_WITHIN_MS = 3_000;

/** What pepr.ts needs of the operator. */
export interface Operator {
  /** Takes `namespace/name` of a ControllerResilience that has changed. */
  readonly enqueue: (key: string) => void;
  /**
   * Begins to work, unless this process is not to (Pepr's build, for one). Never throws.
   *
   * @param startFramework called once: as soon as what it needs can be had, and at once where this process is not to work
   */
  start(startFramework: () => void): void;
}

/** Joins everything together: the only place that makes adapters and reads the environment. */
export function createOperator(): Operator {
  if (!isToRun(process.env)) return { enqueue: () => undefined, start: startFramework => startFramework() };
  let settings: Settings;
  let server: string;
  try {
    const place = placeOf();
    settings = readSettings(process.env, { hostname: hostname(), random, podNamespace: place.podNamespace });
    server = place.server;
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(2);
  }
  return new RunningOperator(settings, server);
}

class RunningOperator implements Operator {
  readonly #settings: Settings;
  readonly #log: Log;
  readonly #metrics = new Metrics({ processMetrics: true, clock: systemClock });
  /** What the cluster's timestamps are compared with is the cluster's time. */
  readonly #clock = new ServerClock(systemClock, {
    log: () => this.#log,
    clockOffset: seconds => this.#metrics.clockOffset(seconds),
  });
  readonly #reachability = new Reachability(systemClock);
  readonly #connection = new Connection(() => loadKubeConfig(), systemClock);
  readonly #api = this.#createApi();
  readonly #remedies = createRemedies();
  readonly #isOurs = (key: string): boolean => looksAfter(this.#settings, key);
  readonly #informers: Informers;
  readonly #events: ApiEventSink;
  readonly #engine: Engine;
  readonly #identityProbe: IdentityProbe;
  readonly #health: HealthServer;
  readonly #stopping = new AbortController();

  constructor(settings: Settings, server: string) {
    this.#settings = settings;
    this.#log = createLogger({ level: settings.logLevel, pretty: settings.pretty });
    this.#log.info({ version: cfg.version, server, identity: settings.identity }, "starting");
    const shared = { api: this.#api, clock: this.#clock, log: this.#log, metrics: this.#metrics, random };
    this.#informers = new Informers(shared, namespace => this.#engine.loop.enqueueNamespace(namespace));
    this.#events = new ApiEventSink({ ...shared, instance: settings.identity });
    this.#engine = this.#createEngine();
    this.#identityProbe = this.#createIdentityProbe();
    this.#health = this.#createHealthServer();
  }

  /** Pepr's watch tells of the objects of all namespaces, whichever are looked after. */
  readonly enqueue = (key: string): void => {
    if (this.#isOurs(key)) this.#engine.loop.enqueue(key);
  };

  start(startFramework: () => void): void {
    this.#ownTheProcess();
    this.#engine.loop.known.onChange(namespaces => this.#informers.setNamespaces(namespaces));
    this.#engine.start();
    this.#identityProbe.start();
    void this.#openHealthPort();
    void this.#reviewRights();
    void this.#startFramework(startFramework);
  }

  /** Calls through one of these wait for each other, not for those through another; they share connection and credentials. */
  #createApi(): Api {
    return new Api(this.#connection, systemClock, {
      userAgent: `controller-resilience/${cfg.version}`,
      onAnswer: ({ code, date }, sentAtMs) => {
        this.#reachability.answered(code);
        this.#clock.heard(date, sentAtMs);
      },
    });
  }

  #createEngine(): Engine {
    const { identity, namespace, restartIntervalMs, fullPassMs } = this.#settings;
    // Places of their own: however many logs are slow, the Lease is renewed.
    const lease = new ApiLeaseStore(this.#createApi(), { namespace, name: LEASE });
    const logs = new ApiLogReader({
      api: this.#createApi(),
      clock: this.#clock,
      metrics: this.#metrics,
      nodeOf: (inNamespace, pod) => this.#informers.nodeOf(inNamespace, pod),
    });
    return new Engine(
      {
        store: new ApiObjectStore(this.#api, { isOurs: this.#isOurs, log: this.#log }),
        lease,
        // Asked for while it leads, and sent at once: behind a line of reads the lead could be another's by then.
        writer: new ApiWriter(this.#createApi()),
        events: this.#events,
        readers: new ClusterReaders(this.#clock, this.#api, this.#informers, logs),
        remedies: this.#remedies,
        random,
        log: this.#log,
        metrics: this.#metrics,
      },
      { identity, restartIntervalMs, loop: { fullPassMs, stopWithinMs: PASSES_WITHIN_MS } },
    );
  }

  #createIdentityProbe(): IdentityProbe {
    return new IdentityProbe({
      // Places of its own: it has to be asked while everything else hangs.
      identity: new OwnIdentity(this.#createApi(), this.#connection, this.#clock),
      clock: systemClock,
      log: this.#log,
      onDead: () => void this.#stop("dead identity", 1),
    });
  }

  #createHealthServer(): HealthServer {
    const hungAfterMs = Math.max(HUNG_AFTER_PASSES * this.#settings.fullPassMs, HUNG_AFTER_MS);
    return new HealthServer({
      host: this.#settings.healthHost,
      port: this.#settings.healthPort,
      log: this.#log,
      metrics: () => this.#metrics.text(),
      health: [
        {
          name: "loop",
          trouble: () => {
            const sinceMs = this.#engine.loop.sinceProgressMs();
            return sinceMs <= hungAfterMs ? null : `has not turned for ${Math.round(sinceMs / 1000)} s`;
          },
        },
      ],
      readiness: [
        { name: "not-stopping", trouble: () => (this.#stopping.signal.aborted ? "is on its way out" : null) },
        { name: "lease", trouble: () => this.#engine.elector.failure() },
        { name: "objects", trouble: () => this.#engine.loop.fullPassFailure() },
        { name: "identity", trouble: () => this.#identityProbe.failure() },
        { name: "api-server", trouble: () => this.#reachability.trouble() },
      ],
    });
  }

  async #openHealthPort(): Promise<void> {
    const { healthHost: host, healthPort } = this.#settings;
    try {
      const port = await this.#health.start();
      this.#log.info({ host, port }, "health port is open");
    } catch (error) {
      this.#log.error({ host, port: healthPort, error: describeError(error) }, "the health port can't be opened");
      process.exit(1);
    }
  }

  /** Says at once, one line each, what it will not be able to do. */
  async #reviewRights(): Promise<void> {
    const lease = { namespace: this.#settings.namespace, name: LEASE };
    const { watchNamespaces } = this.#settings;
    const needs = allNeeds(this.#remedies, { lease, moduleId: cfg.pepr.uuid, watchNamespaces });
    const answers: Answers = new Map();
    await this.#untilDone({
      work: () => reviewRights(this.#api, needs, this.#log, answers),
      failed: "the operator can't review its own rights yet",
    });
  }

  /** Pepr reads its store once, at its start, and never watches if that fails: an API server that is away would cost the watch for good. */
  async #startFramework(startFramework: () => void): Promise<void> {
    paceFramework(systemClock, this.#log);
    const [store = ""] = peprStoreNames(cfg.pepr.uuid);
    const readable = await this.#untilDone({
      work: () => readPeprStore(this.#api, store),
      failed: "Pepr's store can't be read; until it can, changes of objects are seen by the timed full pass alone",
    });
    if (readable) startFrameworkOr(() => void this.#stop("Pepr could not start", 1), startFramework, this.#log);
  }

  #untilDone(errand: Errand): Promise<boolean> {
    return untilDone(errand, { clock: systemClock, random, log: this.#log, signal: this.#stopping.signal });
  }

  /** Signals and stray errors are this project's business, whatever a framework may have registered. */
  #ownTheProcess(): void {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.removeAllListeners(signal);
      process.on(signal, () => void this.#stop(signal));
    }
    // A promise that nobody waits for, in a framework's watch for one, is no reason to die; a broken state is.
    process.on("unhandledRejection", reason => {
      this.#log.error({ error: publicMessage(reason), stack: framesOf(reason) }, "a rejection that nobody handled");
    });
    process.on("uncaughtException", error => {
      this.#log.error({ error: publicMessage(error), stack: framesOf(error) }, "an exception that nobody caught");
      process.exit(1);
    });
  }

  async #stop(reason: string, exitCode = 0): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    this.#log.info({ reason }, "stopping");
    this.#identityProbe.stop();
    systemClock.after(STOP_WITHIN_MS, () => {
      this.#log.error({ withinMs: STOP_WITHIN_MS }, "ended before all that was under way had come to an end");
      process.exit(1);
    });
    await this.#engine.stop();
    await Promise.allSettled([this.#informers.stop(), this.#events.stop(500), this.#health.stop()]);
    this.#connection.close();
    this.#log.info({}, "stopped");
    process.exit(exitCode);
  }
}
