import type { Random } from "../core/clock";
import type { EngineMetrics, EventRecord, EventSink, Key, LeaseStore, Log, ObjectStore, Writer } from "../core/ports";
import type { Readers } from "../core/readers";
import type { Remedy } from "../core/remedy";
import { Controller, type LoopSettings } from "./loop/controller";
import { LeaderElector, type ElectionTiming } from "./lead/leader-election";
import { Reconciler } from "./pass/reconcile";
import { Restarts } from "./restarts/restarts";

/** What the engine needs from outside. */
export interface EnginePorts {
  readonly store: ObjectStore;
  readonly lease: LeaseStore;
  readonly writer: Writer;
  readonly events: EventSink;
  /** The engine uses the clock of these readers. */
  readonly readers: Readers;
  readonly remedies: readonly Remedy[];
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

/** Settings of the engine. */
export interface EngineSettings {
  /** Holder identity in the Lease, different for each process; for display only. */
  readonly identity: string;
  readonly election?: Partial<ElectionTiming>;
  readonly loop?: Partial<LoopSettings>;
  /** Minimum time between two restarts in the whole cluster. */
  readonly restartIntervalMs?: number;
}

/** Runs the loop while this process leads. */
export class Engine {
  readonly elector: LeaderElector;
  readonly loop: Controller;
  #isStopping = false;

  constructor(ports: EnginePorts, settings: EngineSettings) {
    const { clock } = ports.readers;
    const { identity } = settings;
    const requestPass = (key: Key): void => this.loop.enqueue(key);
    const restarts = new Restarts({ clock, requestPass }, settings.restartIntervalMs);
    const reconciler = new Reconciler({ ...ports, restarts });
    const recordEvent = (type: EventRecord["type"], reason: string, note: string): void =>
      ports.events.record({ regarding: ports.lease.ref, type, reason, action: "LeaderElection", note });
    this.elector = new LeaderElector(
      identity,
      {
        ...ports,
        clock,
        store: ports.lease,
        onStartedLeading: () => {
          restarts.startTerm();
          this.loop.startLeading();
          recordEvent("Normal", "StartedLeading", `${identity} became leader.`);
        },
        onStoppedLeading: why => {
          this.loop.stopLeading();
          if (this.#isStopping) return;
          recordEvent("Warning", "StoppedLeading", `${identity} stopped leading and stands by: ${why}.`);
        },
      },
      settings.election,
    );
    this.loop = new Controller(
      {
        ...ports,
        clock,
        reconcile: (key, mayWrite) => reconciler.reconcile(key, mayWrite),
        listed: keys => restarts.expect(keys),
        forget: key => reconciler.forget(key),
        isLeader: () => this.elector.isLeader(),
      },
      settings.loop,
    );
  }

  /** Starts to compete for the Lease. */
  start(): void {
    this.elector.start();
  }

  /** Stops the loop, then releases the Lease. Bounded in time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.loop.stop();
    await this.elector.stop();
  }
}
