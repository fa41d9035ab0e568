import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
} from "../../api/cluster-controller-resilience";
import { CLUSTER_KIND } from "../../api/names";
import { ForbiddenError, framesOf, publicMessage } from "../../core/errors";
import type { Intent, Permission } from "../../core/intent";
import { KINDS } from "../../core/kinds";
import type { EngineMetrics } from "../../core/metrics";
import type { EventSink, Log, Writer } from "../../core/ports";
import { isSameStatus } from "../../core/status";
import { splitKey } from "../../core/text";
import { type Random, STORE_DEADLINE_MS, TokenBucket, withDeadline } from "../../core/time";
import { Controller, type LoopSettings } from "../loop/controller";
import { nextAfter, nextOf, type PassResult } from "../loop/requeue";
import { Executor } from "../write/executor";
import { Brake } from "./brake";
import { protectionsOf, samplesOf, unfollowedKinds, type WorkloadProtection } from "./coverage";
import { type Facts, type FactsPorts, FactsReader, type FactsSettings } from "./facts";
import { type NamespacePlan, planNamespace } from "./plan";
import { clusterStatus, eventOf } from "./report";
import { ALL, Results, type WriteOutcome } from "./results";

/** What the loop of ClusterControllerResiliences needs from outside. */
export interface ClusterWidePorts extends FactsPorts {
  readonly writer: Writer;
  readonly events: EventSink;
  readonly isLeader: () => boolean;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

/** Rights of this loop, besides those of the objects' own loop. */
export const clusterWidePermissions: readonly Permission[] = [
  {
    apiGroup: KINDS.ControllerResilience.group,
    resource: KINDS.ControllerResilience.plural,
    verbs: ["create", "patch", "delete"],
    why: "keeps the ControllerResiliences of a ClusterControllerResilience; it deletes only those that it has generated",
  },
];

/** Namespaces that are written to per second at most, and at once: a new ClusterControllerResilience concerns a thousand of them. */
const PACE = { burst: 20, ratePerSecond: 20 };

/** What status says without the right to list Namespaces. */
const MAY_NOT_LIST =
  "the operator may not list Namespaces; install it with permissions in all namespaces (value namespaces)";

/** While some namespaces were not looked at yet, status waits for them two seconds before it looks again. */
const LOOK_AGAIN: PassResult = { next: "recheck", afterMs: 2_000 };

/** The parts of the cluster that a key can stand for, in the place of a namespace: `namespaces/web`, `objects/all`. */
type Part = "namespaces" | "objects";

/** Whose writes they are. */
const BY = { name: "cluster-wide", permissions: clusterWidePermissions };

/**
 * The loop of ClusterControllerResiliences: it decides for one namespace at a time, so that a change costs as much as its namespace, and
 * reports what all of them add up to. It writes nothing but the ControllerResiliences that it generates, and status.
 */
export class ClusterWide {
  readonly loop: Controller;
  readonly #ports: ClusterWidePorts;
  readonly #observes: boolean;
  readonly #facts: FactsReader;
  readonly #executor: Executor;
  readonly #pace: TokenBucket;
  readonly #results: Results;
  readonly #brake: Brake;

  constructor(ports: ClusterWidePorts, settings: FactsSettings, loop: Partial<LoopSettings> = {}) {
    this.#ports = ports;
    const { clock } = ports.readers;
    this.#observes = settings.observes === true;
    this.#facts = new FactsReader(ports, settings, namespaces => this.#enqueue("namespaces", namespaces));
    const write = async (intent: Intent): Promise<void> =>
      this.#results.remember(intent, await ports.writer.write(intent));
    this.#executor = new Executor({ ...ports, clock, writer: { write } });
    this.#pace = new TokenBucket(clock, PACE);
    this.#results = new Results(clock);
    this.#brake = new Brake(clock);
    this.loop = new Controller(
      {
        ...{ ...ports, clock, list: () => this.#keys(), cachedKeys: () => undefined },
        reconcile: (key, mayWrite) => this.#pass(key, mayWrite),
        listed: () => undefined,
        forget: key => this.#forget(key),
        metrics: ports.metrics.loop(CLUSTER_KIND.toLowerCase()),
      },
      loop,
    );
  }

  startLeading(): void {
    // A pass that ended after the lead was lost may have added some.
    this.#results.clear();
    this.loop.startLeading();
  }

  stopLeading(): void {
    this.loop.stopLeading();
    this.#clear();
  }

  /** Call it when anything in a namespace changes, the Namespace itself included. */
  namespaceChanged(namespace: string): void {
    if (!this.#isUnused()) this.#enqueue("namespaces", [namespace]);
  }

  /** Call it when a ClusterControllerResilience changes: all namespaces may be concerned. Its own pass finds those that are not known. */
  objectChanged(name: string): void {
    this.#enqueue("objects", [name]);
    this.loop.enqueueNamespace("namespaces" satisfies Part);
  }

  /** Reports whether there is no ClusterControllerResilience. While that is unknown there may be one, and a pass says why. */
  #isUnused(): boolean {
    try {
      return this.#ports.caches.clusterObjects().length === 0;
    } catch {
      return false;
    }
  }

  #enqueue(part: Part, names: Iterable<string>): void {
    for (const name of names) this.loop.enqueue(`${part}/${name}`);
  }

  #forget(key: string): void {
    const { namespace: part, name } = splitKey(key);
    if (part === "objects") this.#ports.metrics.conditions(`/${name}`, []);
    else this.#results.forget(name);
  }

  /** Without a ClusterControllerResilience nothing is measured. */
  #clear(): void {
    this.#results.clear();
    this.#brake.clear();
    this.#facts.clear();
    this.#ports.metrics.show("workloads", []);
  }

  async #keys(): Promise<string[]> {
    await this.#ports.caches.attempted();
    const objects = this.#ports.caches.clusterObjects();
    if (objects.length === 0) {
      this.#clear();
      return [];
    }
    const namespaces = await this.#namespaces();
    return [
      ...namespaces.map(name => `namespaces/${name}`),
      ...objects.map(({ metadata }) => `objects/${metadata.name}`),
    ];
  }

  /**
   * Returns the watched namespaces; those that passes know if the operator may not list them, or has failed to for so long that the
   * status says so.
   *
   * @throws the error of an earlier failure
   */
  async #namespaces(): Promise<string[]> {
    try {
      const names = await this.#facts.namespaces();
      if (names.length === 0) throw new ForbiddenError("found no Namespaces, and no cluster is without");
      this.#results.forget(ALL);
      return names;
    } catch (error) {
      const message =
        error instanceof ForbiddenError ? MAY_NOT_LIST : `Failed to list Namespaces: ${publicMessage(error)}`;
      this.#results.failed(ALL, error, message);
      if (!this.#results.isReported(ALL)) throw error;
      return this.#results.names();
    }
  }

  async #pass(key: string, mayWrite: () => boolean): Promise<PassResult> {
    const { namespace: part, name } = splitKey(key);
    try {
      await this.#ports.caches.attempted();
      // The last object, too, ends its incidents when it is gone.
      if (part === "objects") return await this.#report(name, mayWrite);
      if (this.#ports.caches.clusterObjects().length === 0) return { next: "forget" };
      return await this.#passNamespace(name, mayWrite);
    } catch (error) {
      this.#ports.log.warn(
        { key, error: publicMessage(error), stack: framesOf(error) },
        "cluster-wide pass ended early",
      );
      if (part === "namespaces") this.#results.failed(name, error);
      return nextOf(error);
    }
  }

  async #passNamespace(name: string, mayWrite: () => boolean): Promise<PassResult> {
    const cached = await this.#facts.cached(name);
    if (cached === null) {
      this.#results.forget(name);
      this.#reportSoon();
      return { next: "forget" };
    }
    const { facts, plan, waitMs = 0 } = await this.#planOn(this.#results.remembered(cached));
    const outcomes = waitMs > 0 ? undefined : await this.#execute(plan, mayWrite);
    const kinds = facts.objects.flatMap(({ spec }) => spec.stallDetection?.progress ?? []);
    const followed = kinds.map(({ kind }) => kind);
    this.#results.set(name, { shares: plan.shares, protections: protectionsOf(facts, plan), followed }, outcomes);
    this.#reportSoon();
    return outcomes ? nextAfter([], outcomes) : { next: "wait", afterMs: waitMs };
  }

  /** What is not selected any more stays until the report over all namespaces releases it. */
  #plan(facts: Facts): NamespacePlan {
    return planNamespace(facts, (owner, workload) => this.#brake.keeps(owner, facts.namespace.name, workload));
  }

  /** What is written rests on live reads: a cache may be late. Live reads, too, wait for the namespace's turn. */
  async #planOn(cached: Facts): Promise<{ facts: Facts; plan: NamespacePlan; waitMs?: number }> {
    const plan = this.#plan(cached);
    const isWriting = plan.writes.length > 0;
    const waitMs = this.#results.untilTurn(cached.namespace.name, isWriting ? this.#pace : undefined);
    if (!isWriting || waitMs > 0) return { facts: cached, plan, waitMs };
    const facts = this.#results.remembered(await this.#facts.live(cached));
    return { facts, plan: this.#plan(facts) };
  }

  async #execute({ writes }: NamespacePlan, mayWrite: () => boolean): Promise<WriteOutcome[]> {
    const { log, events } = this.#ports;
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) {
      const { intent } = write;
      const outcome = await this.#executor.executeUnowned(BY, intent, { log, mayWrite });
      outcomes.push({ ...write, outcome });
      if (outcome.result !== "Executed" || intent.verb === "create") continue;
      events.record({
        ...{ regarding: intent.target, type: "Normal", reason: intent.eventReason, action: intent.eventReason },
        note: `${intent.why}.`,
      });
    }
    return outcomes;
  }

  #reportSoon(): void {
    this.loop.enqueueNamespace("objects" satisfies Part);
  }

  /** Writes the status of one object, once every namespace was planned for its present generation. @throws any error of the client */
  async #report(name: string, mayWrite: () => boolean): Promise<PassResult> {
    const cached = this.#ports.caches.clusterObjects().find(({ metadata }) => metadata.name === name);
    if (cached === undefined) return { next: "forget" };
    const namespaces = await this.#namespaces();
    if (!this.#results.isComplete(cached.metadata, namespaces)) {
      // The watch of Namespaces, open for ControllerResiliences, reports none again for the first ClusterControllerResilience.
      const known = new Set(this.#results.names());
      this.#enqueue(
        "namespaces",
        namespaces.filter(one => !known.has(one)),
      );
      return LOOK_AGAIN;
    }
    this.#enqueue("namespaces", this.#brake.release(cached, this.#results.of(cached.metadata, namespaces)));
    const measured = this.#statusOf(cached, namespaces);
    if (mayWrite()) this.#show(name, measured);
    return isSameStatus(cached.status, measured) ? { next: "recheck" } : this.#write(cached, namespaces, mayWrite);
  }

  /** Writes the status that rests on the object as it is now. */
  async #write(
    { metadata: { name, uid, generation } }: ClusterControllerResilience,
    namespaces: readonly string[],
    mayWrite: () => boolean,
  ): Promise<PassResult> {
    const { store, events } = this.#ports;
    const object = await this.#bounded("reading the object", () => store.get(name));
    if (object?.metadata.uid !== uid || object.metadata.deletionTimestamp !== undefined) return { next: "recheck" };
    if (object.metadata.generation !== generation) return LOOK_AGAIN;
    const status = this.#statusOf(object, namespaces);
    if (isSameStatus(object.status, status) || !mayWrite()) return { next: "recheck" };
    await this.#bounded("writing status", () => store.writeStatus(object, status));
    const event = eventOf(object, status);
    if (event !== undefined) events.record(event);
    return { next: "recheck" };
  }

  #statusOf(object: ClusterControllerResilience, namespaces: readonly string[]): ClusterControllerResilienceStatus {
    const { readers } = this.#ports;
    const results = this.#results.of(object.metadata, namespaces);
    const protections = this.#protections();
    const kinds = readers.kindWriters();
    const followed = new Set(this.#results.outcomes().flatMap(one => one.followed));
    return clusterStatus(object, results, {
      ...{ now: readers.clock.now(), observes: this.#observes, protections },
      waiting: this.#brake.waiting(object, results),
      unfollowed: kinds && unfollowedKinds(kinds, protections, followed),
    });
  }

  #protections(): WorkloadProtection[] {
    return this.#results.outcomes().flatMap(({ protections }) => protections);
  }

  /** Only a leader has metrics of conditions and coverage. */
  #show(name: string, { conditions = [] }: ClusterControllerResilienceStatus): void {
    const { metrics } = this.#ports;
    metrics.conditions(`/${name}`, conditions);
    metrics.show("workloads", samplesOf(this.#protections()));
  }

  #bounded<T>(what: string, work: () => Promise<T>): Promise<T> {
    return withDeadline(this.#ports.readers.clock, STORE_DEADLINE_MS, what, work);
  }
}
