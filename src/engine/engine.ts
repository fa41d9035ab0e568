import { KIND } from "../api/names";
import { publicMessage } from "../core/errors";
import type { EventRecord, LeaseStore } from "../core/ports";
import { ClusterWide, type ClusterWidePorts } from "./cluster-wide/cluster-wide";
import type { FactsSettings } from "./cluster-wide/facts";
import { Controller, type ControllerPorts, type LoopSettings } from "./loop/controller";
import { KeyMemory } from "../core/signing-keys";
import { LeaseBreaker, leaseKeys } from "./lead/lease-record";
import { LeaderElector } from "./lead/leader-election";
import { deleteLeftovers } from "./pass/leftovers";
import type { OperatorMode } from "./pass/ready";
import { Reconciler, type ReconcilerPorts } from "./pass/reconcile";
import { Restarts } from "../restarts/ledger";
import { Executor } from "./write/executor";

/** What the engine needs from outside. */
export interface EnginePorts extends Omit<ReconcilerPorts, "restarts" | "mode"> {
  readonly lease: LeaseStore;
  /** Time since the operator's own last trouble with the API server, in milliseconds; Infinity if there was none. */
  readonly sinceOwnTroubleMs?: () => number;
  /** What the loop of ClusterControllerResiliences reads and reports. */
  readonly clusterWide: Pick<ClusterWidePorts, "caches" | "store">;
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
  readonly clusterWide: FactsSettings;
}

/** Runs the loop while this process leads. */
export class Engine {
  readonly elector: LeaderElector;
  readonly loop: Controller;
  readonly clusterWide: ClusterWide;
  #isStopping = false;

  constructor(ports: EnginePorts, settings: EngineSettings) {
    const [{ clock }, { identity }] = [ports.readers, settings];
    const isLeader = (): boolean => this.elector.isLeader();
    const record = leaseEvents(ports);
    const breaker = new LeaseBreaker(clock, breakerReporter(ports, record, isLeader));
    const restarts = new Restarts(
      {
        ...{ clock, lease: ports.lease.ref, breaker, requestPass: key => this.loop.enqueue(key) },
        ...{ sinceOwnTroubleMs: ports.sinceOwnTroubleMs, clockTrouble: ports.clockTrouble },
        onTripped: note => record("Warning", "BreakerTripped", "TripBreaker", note),
      },
      settings.restartIntervalMs,
    );
    const reconciler = new Reconciler({ ...ports, restarts, mode: settings.mode });
    this.clusterWide = new ClusterWide(
      { ...ports, ...ports.clusterWide, isLeader },
      { ...settings.clusterWide, observes: settings.mode === "Observe" },
      settings.loop,
    );
    this.elector = new LeaderElector(identity, {
      ...{ ...ports, clock, store: ports.lease },
      annotations: [breaker, leaseKeys(ports.keyMemory ?? new KeyMemory(), clock)],
      onStartedLeading: () => {
        restarts.startTerm();
        this.loop.startLeading();
        this.clusterWide.startLeading();
        record("Normal", "StartedLeading", ELECTION, `${identity} became leader.`);
      },
      onStoppedLeading: why => {
        this.loop.stopLeading();
        this.clusterWide.stopLeading();
        breaker.endTerm();
        if (this.#isStopping) return;
        record("Warning", "StoppedLeading", ELECTION, `${identity} stopped leading and stands by: ${why}.`);
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
    await Promise.all([this.loop.stop(), this.clusterWide.loop.stop()]);
    await this.elector.stop();
  }
}

/** Each list of all objects is a time to look for leftovers as well. */
function createLoop(
  ports: EnginePorts & Pick<ControllerPorts, "clock" | "isLeader">,
  { loop }: EngineSettings,
  { reconciler, restarts }: { readonly reconciler: Reconciler; readonly restarts: Restarts },
): Controller {
  const { store, log } = ports;
  const executor = new Executor(ports);
  return new Controller(
    {
      ...{ ...ports, metrics: ports.metrics.loop(KIND.toLowerCase()) },
      cachedKeys: () => store.cachedKeys(),
      list: async () => {
        const { keys, uids } = await store.list();
        deleteLeftovers({ ...ports, executor }, uids).catch((error: unknown) => {
          log.warn({ error: publicMessage(error) }, "failed to look for leftovers of deleted objects");
        });
        return keys;
      },
      reconcile: (key, mayWrite) => reconciler.reconcile(key, mayWrite),
      listed: keys => restarts.expect(keys),
      forget: key => reconciler.forget(key),
    },
    loop,
  );
}

const ELECTION = "LeaderElection";

type RecordEvent = (type: EventRecord["type"], reason: string, action: string, note: string) => void;

/** Returns what records an Event on the Lease. */
function leaseEvents({ events, lease }: Pick<EnginePorts, "events" | "lease">): RecordEvent {
  return (type, reason, action, note) => events.record({ regarding: lease.ref, type, reason, action, note });
}

/** Each replica reports the state that it reads from the Lease; the leader records an Event of the reset. */
function breakerReporter({ log, metrics }: EnginePorts, record: RecordEvent, isLeader: () => boolean) {
  return (why: string | null): void => {
    metrics.show("restart_breaker_tripped", why === null ? 0 : 1);
    if (why !== null) {
      log.warn({ why }, "restart breaker is tripped");
      return;
    }
    log.info({}, "restart breaker is reset");
    if (isLeader()) record("Normal", "BreakerReset", "ResetBreaker", "The restart breaker is reset.");
  };
}
