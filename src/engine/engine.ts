import { KIND } from "../api/names";
import { publicMessage } from "../core/errors";
import type { Random } from "../core/time";
import type { EngineMetrics } from "../core/metrics";
import type { EventRecord, EventSink, LeaseStore, Log, ObjectStore, Writer } from "../core/ports";
import type { Readers } from "../core/readers";
import type { Remedy } from "../core/remedy";
import { ClusterWide } from "./cluster-wide/cluster-wide";
import type { ClusterWidePorts, ClusterWideSettings } from "./cluster-wide/ports";
import { Controller, type ControllerPorts, type LoopSettings } from "./loop/controller";
import { KeyMemory } from "../core/signing-keys";
import { LeaseBreaker, LeaseKeys } from "./lead/lease-record";
import { LeaderElector } from "./lead/leader-election";
import { deleteLeftovers } from "./pass/leftovers";
import type { OperatorMode } from "./pass/ready";
import { Reconciler } from "./pass/reconcile";
import { Restarts, type RestartsPorts } from "../restarts/ledger";
import { Executor } from "./write/executor";

/** What the engine needs from outside. */
export interface EnginePorts {
  readonly store: ObjectStore;
  readonly lease: LeaseStore;
  readonly writer: Writer;
  readonly events: EventSink;
  /** The engine uses the clock of these readers. */
  readonly readers: Readers;
  /** The same readers, but from watch caches as far as there are any. Absent: every pass reads live. */
  readonly cachedReaders?: Readers;
  readonly remedies: readonly Remedy[];
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
  /** Time since the operator's own last trouble with the API server, in milliseconds; Infinity if there was none. */
  readonly sinceOwnTroubleMs?: () => number;
  /** What is wrong with the operator's clock, or null. */
  readonly clockTrouble?: () => string | null;
  /** What the loop of ClusterControllerResiliences reads and reports. Absent: there is no such loop. */
  readonly clusterWide?: Pick<ClusterWidePorts, "caches" | "store">;
  /** What the readers remember of the signing keys. It outlives this process on the Lease. */
  readonly keyMemory?: KeyMemory;
}

/** Settings of the engine. */
export interface EngineSettings {
  /** Holder identity in the Lease, different for each process; for display only. */
  readonly identity: string;
  /** Observe: nothing is written for any object, except status, Events and cleanup. */
  readonly mode?: OperatorMode;
  readonly loop?: Partial<LoopSettings>;
  /** Minimum time between two restarts in the whole cluster. */
  readonly restartIntervalMs?: number;
  /** For the loop of ClusterControllerResiliences. */
  readonly clusterWide?: ClusterWideSettings;
}

/** Runs the loop while this process leads. */
export class Engine {
  readonly elector: LeaderElector;
  readonly loop: Controller;
  readonly clusterWide: ClusterWide | undefined;
  #isStopping = false;

  constructor(ports: EnginePorts, settings: EngineSettings) {
    const [{ clock }, { identity }] = [ports.readers, settings];
    const isLeader = (): boolean => this.elector.isLeader();
    const breaker = new LeaseBreaker(clock, breakerReporter(ports, isLeader));
    const restarts = createRestarts(ports, settings, { breaker, requestPass: key => this.loop.enqueue(key) });
    const reconciler = new Reconciler({ ...ports, restarts, mode: settings.mode });
    const recordEvent = electionEvents(ports);
    this.clusterWide = createClusterWide(ports, settings, isLeader);
    this.elector = new LeaderElector(identity, {
      ...{ ...ports, clock, store: ports.lease },
      annotations: [breaker, new LeaseKeys(ports.keyMemory ?? new KeyMemory())],
      onStartedLeading: () => {
        restarts.startTerm();
        this.loop.startLeading();
        this.clusterWide?.startLeading();
        recordEvent("Normal", "StartedLeading", `${identity} became leader.`);
      },
      onStoppedLeading: why => {
        this.loop.stopLeading();
        this.clusterWide?.stopLeading();
        breaker.endTerm();
        if (this.#isStopping) return;
        recordEvent("Warning", "StoppedLeading", `${identity} stopped leading and stands by: ${why}.`);
      },
    });
    this.loop = createLoop({ ...ports, clock, isLeader }, settings, { reconciler, restarts });
  }

  /** Starts to compete for the Lease. */
  start(): void {
    this.elector.start();
  }

  /** Stops the loop, then releases the Lease. Bounded in time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([this.loop.stop(), this.clusterWide?.loop.stop()]);
    await this.elector.stop();
  }
}

function createLoop(
  ports: EnginePorts & Pick<ControllerPorts, "clock" | "isLeader">,
  { loop }: EngineSettings,
  { reconciler, restarts }: { readonly reconciler: Reconciler; readonly restarts: Restarts },
): Controller {
  const reconcile: ControllerPorts["reconcile"] = (key, mayWrite) => reconciler.reconcile(key, mayWrite);
  const listed: ControllerPorts["listed"] = keys => restarts.expect(keys);
  const forget: ControllerPorts["forget"] = key => reconciler.forget(key);
  const metrics = ports.metrics.loop(KIND.toLowerCase());
  return new Controller({ ...ports, store: sweptStore(ports), reconcile, listed, forget, metrics }, loop);
}

/** The store, whose lists are a time to look for leftovers as well. */
function sweptStore(ports: EnginePorts & Pick<ControllerPorts, "clock" | "isLeader">): ControllerPorts["store"] {
  const { store, log } = ports;
  const executor = new Executor(ports);
  return {
    cachedKeys: () => store.cachedKeys(),
    list: async () => {
      const { keys, uids } = await store.list();
      deleteLeftovers({ ...ports, executor }, uids).catch((error: unknown) => {
        log.warn({ error: publicMessage(error) }, "failed to look for leftovers of deleted objects");
      });
      return keys;
    },
  };
}

function createClusterWide(
  ports: EnginePorts,
  { clusterWide: settings, loop, mode }: EngineSettings,
  isLeader: () => boolean,
): ClusterWide | undefined {
  if (ports.clusterWide === undefined || settings === undefined) return undefined;
  return new ClusterWide(
    { ...ports, ...ports.clusterWide, isLeader },
    { ...settings, observes: mode === "Observe" },
    loop,
  );
}

function electionEvents({ events, lease }: Pick<EnginePorts, "events" | "lease">) {
  return (type: EventRecord["type"], reason: string, note: string): void =>
    events.record({ regarding: lease.ref, type, reason, action: "LeaderElection", note });
}

function createRestarts(
  { readers, lease, events, sinceOwnTroubleMs, clockTrouble }: EnginePorts,
  { restartIntervalMs }: EngineSettings,
  ports: Pick<RestartsPorts, "breaker" | "requestPass">,
): Restarts {
  const onTripped = (note: string): void => {
    events.record({
      ...{ regarding: lease.ref, type: "Warning", reason: "BreakerTripped", action: "TripBreaker", note },
    });
  };
  const own = { clock: readers.clock, lease: lease.ref, sinceOwnTroubleMs, clockTrouble, onTripped };
  return new Restarts({ ...own, ...ports }, restartIntervalMs);
}

/** Each replica reports the state that it reads from the Lease; the leader records an Event of the reset. */
function breakerReporter({ log, metrics, events, lease }: EnginePorts, isLeader: () => boolean) {
  return (why: string | null): void => {
    metrics.show("restart_breaker_tripped", why === null ? 0 : 1);
    if (why !== null) {
      log.warn({ why }, "restart breaker is tripped");
      return;
    }
    log.info({}, "restart breaker is reset");
    if (!isLeader()) return;
    const note = "The restart breaker is reset.";
    events.record({ regarding: lease.ref, type: "Normal", reason: "BreakerReset", action: "ResetBreaker", note });
  };
}
