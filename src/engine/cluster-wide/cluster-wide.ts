import { CLUSTER_KIND } from "../../api/names";
import { type Facts, handlerFacts, type Stored, workloadName } from "../../core/cluster-wide";
import { framesOf, publicMessage } from "../../core/errors";
import type { Intent, Outcome, Permission } from "../../core/intent";
import { objectOf } from "../../core/json";
import { splitKey } from "../../core/text";
import { KINDS } from "../../core/kinds";
import { TokenBucket } from "../../core/time";
import { Controller, type LoopSettings } from "../loop/controller";
import { nextOf, type PassResult } from "../loop/requeue";
import { Executor } from "../write/executor";
import { WriteBackoff } from "../write/write-backoff";
import { Brake } from "./brake";
import { coverageOf } from "./coverage";
import { FactsReader } from "./facts";
import { isGenerated, listedIn, type PlannedWrite } from "./generated";
import { type NamespacePlan, planNamespace } from "./plan";
import type { ClusterWidePorts, ClusterWideSettings, WriteOutcome } from "./ports";
import { Results } from "./results";
import { StatusReporter } from "./status-reporter";

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

/** A workload that is gone for less than this may be replaced just now: its object, with budgets and remembered bindings, stays. */
const VANISHED_MS = 600_000;

/** The parts of the cluster that a key can stand for, in the place of a namespace: `namespaces/web`, `objects/all`. */
type Part = "namespaces" | "objects";

/**
 * The loop of ClusterControllerResiliences: it decides for one namespace at a time, so that a change costs as much as its namespace, and
 * reports what all of them add up to. It writes nothing but the ControllerResiliences that it generates, and status.
 */
export class ClusterWide {
  readonly loop: Controller;
  readonly #ports: ClusterWidePorts;
  readonly #facts: FactsReader;
  readonly #executor: Executor;
  readonly #pace: TokenBucket;
  readonly #results = new Results();
  /** Of writes that have taken effect: who undoes one makes the next one wait as a refusal would. */
  #undone: WriteBackoff;
  readonly #reporter: StatusReporter;
  readonly #brake: Brake;
  /** When each namespace that waits for its turn may be written to. */
  readonly #turns = new Map<string, number>();
  /** When listed workloads were first found to be gone, by namespace and workload. */
  readonly #gone = new Map<string, ReadonlyMap<string, number>>();
  /** Answers to writes. */
  readonly #answers = new WeakMap<Intent, unknown>();
  /** By namespace, see {@link Facts}. */
  readonly #stored = new Map<string, Map<string, Stored>>();
  readonly #by = { name: "cluster-wide", permissions: clusterWidePermissions };

  constructor(ports: ClusterWidePorts, settings: ClusterWideSettings, loop: Partial<LoopSettings> = {}) {
    this.#ports = ports;
    const { clock } = ports.readers;
    this.#facts = new FactsReader(ports, settings, namespaces => this.#enqueue("namespaces", namespaces));
    const write = async (intent: Intent): Promise<void> =>
      void this.#answers.set(intent, await ports.writer.write(intent));
    this.#executor = new Executor({ ...ports, clock, writer: { write } });
    this.#pace = new TokenBucket(clock, PACE);
    this.#undone = new WriteBackoff(clock);
    const onIncomplete = (namespaces: readonly string[]): void => this.#enqueueUnknown(namespaces);
    const onReleased = (namespaces: readonly string[]): void => this.#enqueue("namespaces", namespaces);
    this.#brake = new Brake(clock);
    this.#reporter = new StatusReporter(ports, this.#facts, this.#results, {
      ...{ ...settings, onIncomplete, onReleased, brake: this.#brake },
    });
    const keys = (): Promise<string[]> => this.#keys();
    const nothing = (): void => undefined;
    this.loop = new Controller(
      {
        ...{ ...ports, clock, store: { list: keys, cachedKeys: () => undefined } },
        reconcile: (key, mayWrite) => this.#pass(key, mayWrite),
        ...{ listed: nothing, forget: nothing, metrics: ports.metrics.loop(CLUSTER_KIND.toLowerCase()) },
      },
      loop,
    );
  }

  startLeading(): void {
    this.#results.clear();
    this.loop.startLeading();
  }

  stopLeading(): void {
    this.loop.stopLeading();
    this.#rest();
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

  /**
   * Requests a pass of the namespaces that the loop does not know. It knows none before the first ClusterControllerResilience, and the watch
   * of Namespaces, open for ControllerResiliences, reports none again. Those that it knows have waited for a pass since the last change.
   */
  #enqueueUnknown(namespaces: readonly string[]): void {
    const known = new Set(this.loop.knownIn("namespaces" satisfies Part));
    const isUnknown = (name: string): boolean => !known.has(`namespaces/${name}`);
    this.#enqueue("namespaces", namespaces.filter(isUnknown));
  }

  /** Without a ClusterControllerResilience nothing is measured. */
  #rest(): void {
    this.#results.clear();
    this.#undone = new WriteBackoff(this.#ports.readers.clock);
    this.#brake.clear();
    this.#gone.clear();
    this.#stored.clear();
    this.#turns.clear();
    this.#facts.clear();
    this.#reporter.clear();
    this.#ports.metrics.show("workloads", []);
  }

  async #keys(): Promise<string[]> {
    await this.#ports.caches.attempted();
    const objects = this.#ports.caches.clusterObjects();
    if (objects.length === 0) {
      this.#rest();
      return [];
    }
    const namespaces = await this.#reporter.namespaces();
    return [
      ...namespaces.map(name => `namespaces/${name}`),
      ...objects.map(({ metadata }) => `objects/${metadata.name}`),
    ];
  }

  async #pass(key: string, mayWrite: () => boolean): Promise<PassResult> {
    const { namespace: part, name } = splitKey(key);
    try {
      await this.#ports.caches.attempted();
      // The last object, too, ends its incidents when it is gone.
      if (part === "objects") return await this.#reporter.report(name, mayWrite);
      if (this.#ports.caches.clusterObjects().length === 0) return { next: "forget" };
      return await this.#passNamespace(name, mayWrite);
    } catch (error) {
      this.#ports.log.warn(
        { key, error: publicMessage(error), stack: framesOf(error) },
        "cluster-wide pass ended early",
      );
      if (part === "namespaces") this.#results.failed(name, error, this.#nowMs());
      return nextOf(error);
    } finally {
      // The pass may have added results after the lead was lost.
      if (!this.loop.isLeading()) this.#rest();
    }
  }

  async #passNamespace(name: string, mayWrite: () => boolean): Promise<PassResult> {
    const cached = await this.#facts.cached(name);
    if (cached === null) {
      this.#results.forget(name);
      this.#gone.delete(name);
      this.#turns.delete(name);
      this.#stored.delete(name);
      this.#reportSoon();
      return { next: "forget" };
    }
    const { facts, plan, waitMs = 0 } = await this.#planOn(this.#withMemory(name, cached));
    const outcomes = waitMs > 0 ? [] : await this.#execute(plan, mayWrite);
    const found = { plan, coverage: coverageOf(facts, plan), handlers: handlerFacts(facts), outcomes };
    this.#results.set(name, found, this.#nowMs());
    this.#reportSoon();
    return waitMs > 0 ? { next: "wait", afterMs: waitMs } : afterWrites(outcomes.map(({ outcome }) => outcome));
  }

  /** What is not selected any more stays until the report over all namespaces releases it. */
  #plan(facts: Facts): NamespacePlan {
    return planNamespace(facts, (owner, workload) => this.#brake.keeps(owner, facts.namespace.name, workload));
  }

  /** What is written rests on live reads: a cache may be late. */
  async #planOn(cached: Facts): Promise<{ facts: Facts; plan: NamespacePlan; waitMs?: number }> {
    const plan = this.#plan(cached);
    if (plan.writes.length === 0) {
      this.#turns.delete(cached.namespace.name);
      return { facts: cached, plan };
    }
    // Live reads, too, wait for the namespace's turn.
    const waitMs = this.#untilTurn(cached.namespace.name);
    if (waitMs > 0) return { facts: cached, plan, waitMs };
    const facts = this.#withMemory(cached.namespace.name, await this.#facts.live(cached));
    return { facts, plan: this.#plan(facts) };
  }

  /** Returns the milliseconds until this namespace may be written to; 0 if it may now. */
  #untilTurn(namespace: string): number {
    const nowMs = this.#nowMs();
    const turnMs = this.#turns.get(namespace) ?? nowMs + this.#pace.reserve();
    if (turnMs > nowMs) this.#turns.set(namespace, turnMs);
    else this.#turns.delete(namespace);
    return Math.max(0, turnMs - nowMs);
  }

  /** Adds what this process remembers: what the API server stores, and which listed workloads are gone for a short time only. */
  #withMemory(namespace: string, facts: Facts): Facts {
    const there = new Set(facts.candidates.map(workloadName));
    const listed = facts.objects.filter(isGenerated).flatMap(listedIn);
    const gone = listed.filter(workload => !there.has(workload));
    const before = this.#gone.get(namespace);
    const since = new Map(gone.map(workload => [workload, before?.get(workload) ?? this.#nowMs()]));
    if (since.size === 0) this.#gone.delete(namespace);
    else this.#gone.set(namespace, since);
    const vanishing = gone.filter(workload => this.#nowMs() - (since.get(workload) ?? 0) < VANISHED_MS);
    const stored = this.#stored.get(namespace);
    return { ...facts, ...(stored && { stored }), ...(vanishing.length > 0 && { vanishing: new Set(vanishing) }) };
  }

  async #execute({ writes }: NamespacePlan, mayWrite: () => boolean): Promise<WriteOutcome[]> {
    const { log, events } = this.#ports;
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) {
      const { intent } = write;
      const again = stateOf(write);
      const waiting = again && this.#undone.pending(again);
      const outcome: Outcome = waiting ?? (await this.#executor.executeUnowned(this.#by, intent, { log, mayWrite }));
      outcomes.push({ write, outcome });
      if (outcome.result === "Executed" && again !== undefined) this.#undone.note(again, undoneBy(intent));
      if (outcome.result === "Executed") this.#remember(write);
      if (outcome.result !== "Executed" || intent.verb === "create") continue;
      events.record({
        ...{ regarding: intent.target, type: "Normal", reason: intent.eventReason, action: intent.eventReason },
        note: `${intent.why}.`,
      });
    }
    return outcomes;
  }

  #remember({ for: uid, intent, state }: PlannedWrite): void {
    const { namespace = "" } = intent.target;
    const { spec } = objectOf(this.#answers.get(intent));
    if (state === undefined || spec === undefined) return;
    this.#stored.set(namespace, new Map([...(this.#stored.get(namespace) ?? []), [uid, { state, spec }]]));
  }

  #reportSoon(): void {
    this.loop.enqueueNamespace("objects" satisfies Part);
  }

  #nowMs(): number {
    return this.#ports.readers.clock.monotonicMs();
  }
}

/**
 * Stands for the state that a write leads to, in a backoff. The name counts for nothing: an object that is deleted and does not go has a
 * successor with another one. Another workload or spec is another state, which never waits.
 */
function stateOf({ state, intent }: PlannedWrite): Intent | undefined {
  const { apiVersion, kind, namespace = "" } = intent.target;
  const target = { apiVersion, kind, namespace, name: "" };
  return state === undefined ? undefined : { ...intent, verb: "patch", target, body: { state } };
}

function undoneBy({ target }: Intent): Outcome {
  const message = `another writer changes or deletes ControllerResilience ${target.namespace ?? ""}/${target.name} again and again; change the ClusterControllerResilience instead`;
  return { result: "Blocked", message, retryAfterMs: 0 };
}

function afterWrites(outcomes: readonly Outcome[]): PassResult {
  if (outcomes.some(({ result }) => result === "Failed" || result === "Conflict"))
    return { next: "retry", conflict: !outcomes.some(({ result }) => result === "Failed") };
  const waits = outcomes.flatMap(outcome => ("retryAfterMs" in outcome ? [outcome.retryAfterMs] : []));
  return waits.length === 0 ? { next: "recheck" } : { next: "wait", afterMs: Math.min(...waits) };
}
