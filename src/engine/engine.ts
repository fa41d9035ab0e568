import type { Random } from "../core/clock";
import type { EngineMetrics, EventRecord, EventSink, Key, LeaseStore, Log, ObjectStore, Writer } from "../core/ports";
import type { Readers } from "../core/readers";
import type { Remedy } from "../core/remedy";
import { Controller, type LoopSettings } from "./loop/controller";
import { LeaderElector, type ElectionTiming } from "./lead/leader-election";
import { Reconciler } from "./pass/reconcile";
import { LeaderWarmup } from "./lead/leader-warmup";
import { DEFAULT_RESTART_INTERVAL_MS, RestartPacer } from "./restarts/restart-pacer";

/** Everything that the engine needs from the outside. */
export interface EnginePorts {
  readonly store: ObjectStore;
  readonly lease: LeaseStore;
  readonly writer: Writer;
  readonly events: EventSink;
  /** Its clock is the engine's, too. */
  readonly readers: Readers;
  readonly remedies: readonly Remedy[];
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

/** What an installer may choose. */
export interface EngineSettings {
  /** Who competes for the Lease; another name for each process, for people to read. */
  readonly identity: string;
  readonly election?: Partial<ElectionTiming>;
  readonly loop?: Partial<LoopSettings>;
  /** Least time between two restarts of anything. */
  readonly restartIntervalMs?: number;
}

/** The running engine: election, loop, passes and pacer, put together. */
export class Engine {
  readonly #elector: LeaderElector;
  readonly #controller: Controller;
  readonly #tell: (type: EventRecord["type"], reason: string, note: string) => void;
  #isStopping = false;

  constructor(ports: EnginePorts, settings: EngineSettings) {
    const { clock } = ports.readers;
    const pacer = new RestartPacer(clock, settings.restartIntervalMs ?? DEFAULT_RESTART_INTERVAL_MS);
    const warmup = new LeaderWarmup(key => this.#controller.enqueue(key));
    const reconciler = new Reconciler({ ...ports, pacer, warmup });
    const shared = { ...ports, clock };
    this.#tell = (type, reason, note) =>
      ports.events.record({ regarding: ports.lease.ref, type, reason, action: "LeaderElection", note });
    this.#elector = new LeaderElector(
      settings.identity,
      {
        ...shared,
        store: ports.lease,
        onStartedLeading: () => {
          pacer.startTerm();
          warmup.startTerm();
          this.#controller.startLeading();
          this.#tell("Normal", "StartedLeading", `${settings.identity} leads.`);
        },
        onStoppedLeading: why => {
          this.#controller.stopLeading();
          const note = `${settings.identity} leads no longer, and does nothing until it leads again: ${why}.`;
          if (!this.#isStopping) this.#tell("Warning", "StoppedLeading", note);
        },
      },
      settings.election,
    );
    const reconcile = (key: Key, mayWrite: () => boolean) => reconciler.reconcile(key, mayWrite);
    const forget = (key: Key): void => reconciler.forget(key);
    const listed = (keys: readonly Key[]): void => warmup.expect(keys);
    const isLeader = (): boolean => this.isLeader();
    this.#controller = new Controller({ ...shared, reconcile, listed, forget, isLeader }, settings.loop);
  }

  /** Begins to compete for the lead; works while it has it. */
  start(): void {
    this.#elector.start();
  }

  /** Ends the loop, then hands the lead back. Bounded in time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#controller.stop();
    await this.#elector.stop();
  }

  /** Whether this process leads now. */
  isLeader(): boolean {
    return this.#elector.isLeader();
  }

  /** Something about this object may have changed. */
  enqueue(key: Key): void {
    this.#controller.enqueue(key);
  }

  /** Something in this namespace may have changed. */
  enqueueNamespace(namespace: string): void {
    this.#controller.enqueueNamespace(namespace);
  }

  /** Namespaces that hold an object. */
  knownNamespaces(): ReadonlySet<string> {
    return this.#controller.known.namespaces();
  }

  /** Calls back with all known namespaces whenever their set changes. Returns how to end that. */
  onNamespacesChanged(listener: (namespaces: ReadonlySet<string>) => void): () => void {
    return this.#controller.known.onChange(listener);
  }

  /** Why the objects can't be listed; null while they can, or while not leading. For /readyz. */
  trouble(): string | null {
    return this.#controller.fullPassTrouble();
  }

  /** Why it can't compete for a Lease that it has never seen; null otherwise. For /readyz. */
  leaseTrouble(): string | null {
    return this.#elector.trouble();
  }

  /** Milliseconds since the loop last got something done; 0 while not leading. For /healthz: far above the full pass, it is stuck. */
  sinceLastTurnMs(): number {
    return this.#controller.sinceLastTurnMs();
  }
}
