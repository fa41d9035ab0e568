import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import { ConditionType } from "../../api/conditions";
import { CLUSTER_KIND } from "../../api/names";
import type { Facts } from "../../core/cluster-wide";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/deadline";
import { ForbiddenError, framesOf, publicMessage } from "../../core/errors";
import type { ObjectRef, Outcome, Permission } from "../../core/intent";
import { splitKey } from "../../core/key";
import { apiVersionOf, KINDS } from "../../core/kinds";
import { isSameStatus } from "../../core/status";
import { TokenBucket } from "../../core/token-bucket";
import { Controller } from "../loop/controller";
import { nextOf, type PassResult } from "../loop/pass-result";
import { Executor } from "../write/executor";
import { coverageOf } from "./coverage";
import { FactsReader } from "./facts-reader";
import { type NamespacePlan, planNamespace } from "./plan";
import { clusterStatus, type NamespaceResult } from "./report";
import type { ClusterWidePorts, ClusterWideSettings, WriteOutcome } from "./ports";
import { Results } from "./results";

/** Rights of this loop, besides those of the objects' own loop. */
export const clusterWidePermissions: readonly Permission[] = [
  {
    apiGroup: KINDS.ControllerResilience.group,
    resource: KINDS.ControllerResilience.plural,
    verbs: ["create", "patch", "delete"],
    why: "keeps the ControllerResiliences of a ClusterControllerResilience; it deletes only those that it has generated",
  },
];

/** Writes per second at most, and at once: a new ClusterControllerResilience creates an object in each of a thousand namespaces. */
const PACE = { burst: 20, ratePerSecond: 20 };

/** While some namespaces were not looked at yet, status waits for them this long before it looks again. */
const UNTIL_COMPLETE_MS = 2_000;

/** The parts of the cluster that a key can stand for, in the place of a namespace: `namespaces/web`, `objects/all`, `coverage/all`. */
type Part = "namespaces" | "objects" | "coverage";

const COVERAGE = "coverage/all";

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
  readonly #by = { name: "cluster-wide", permissions: clusterWidePermissions };

  constructor(ports: ClusterWidePorts, settings: ClusterWideSettings) {
    this.#ports = ports;
    const { clock } = ports.readers;
    this.#facts = new FactsReader(ports, settings, namespaces => this.#enqueue("namespaces", namespaces));
    this.#executor = new Executor({ ...ports, clock });
    this.#pace = new TokenBucket(clock, PACE);
    const keys = (): Promise<string[]> => this.#keys();
    this.loop = new Controller({
      ...ports,
      clock,
      store: { list: keys, cachedKeys: () => undefined },
      reconcile: (key, mayWrite) => this.#pass(key, mayWrite),
      listed: () => undefined,
      forget: () => undefined,
      metrics: { reconciled: () => undefined, queueDepth: () => undefined },
    });
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
    this.#enqueue("namespaces", [namespace]);
  }

  /** Call it when a ClusterControllerResilience changes: all namespaces may be concerned. */
  objectChanged(name: string): void {
    this.#enqueue("objects", [name]);
    this.loop.enqueueNamespace("namespaces" satisfies Part);
  }

  #enqueue(part: Part, names: Iterable<string>): void {
    for (const name of names) this.loop.enqueue(`${part}/${name}`);
  }

  /** Without a ClusterControllerResilience nothing is watched or measured. */
  #rest(): void {
    this.#results.clear();
    this.#facts.clear();
    this.#ports.caches.release();
    this.#ports.metrics.workloads([]);
  }

  async #keys(): Promise<string[]> {
    const objects = this.#ports.caches.clusterObjects();
    if (objects.length === 0) {
      this.#rest();
      return [];
    }
    const namespaces = await orNone(this.#facts.namespaces());
    return [
      ...namespaces.map(name => `namespaces/${name}`),
      ...objects.map(({ metadata }) => `objects/${metadata.name}`),
      COVERAGE,
    ];
  }

  async #pass(key: string, mayWrite: () => boolean): Promise<PassResult> {
    const { namespace: part, name } = splitKey(key);
    try {
      if (this.#ports.caches.clusterObjects().length === 0) return { next: "forget" };
      if (part === "namespaces") return await this.#passNamespace(name, mayWrite);
      return part === "objects" ? await this.#passObject(name, mayWrite) : await this.#passCoverage();
    } catch (error) {
      this.#ports.log.warn(
        { key, error: publicMessage(error), stack: framesOf(error) },
        "cluster-wide pass ended early",
      );
      if (part === "namespaces") this.#results.failed(name, error, this.#nowMs());
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
    const { facts, plan } = await this.#planOn(cached);
    const outcomes = await this.#execute(plan, mayWrite);
    this.#results.set(name, { plan, coverage: coverageOf(facts, plan), outcomes }, this.#nowMs());
    this.#reportSoon();
    return afterWrites(outcomes.map(({ outcome }) => outcome));
  }

  /** What takes protection away rests on live reads: a cache may be late. */
  async #planOn(cached: Facts): Promise<{ facts: Facts; plan: NamespacePlan }> {
    const plan = planNamespace(cached);
    if (!plan.writes.some(({ takesAway }) => takesAway)) return { facts: cached, plan };
    const facts = await this.#facts.live(cached);
    return { facts, plan: planNamespace(facts) };
  }

  async #execute({ writes }: NamespacePlan, mayWrite: () => boolean): Promise<WriteOutcome[]> {
    const { log, events } = this.#ports;
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) {
      const waitMs = this.#pace.take() ? 0 : 1_000 / PACE.ratePerSecond;
      const outcome: Outcome =
        waitMs > 0
          ? { result: "Limited", limit: "PassTime", retryAfterMs: waitMs }
          : await this.#executor.executeUnowned(this.#by, write.intent, { log, mayWrite });
      outcomes.push({ write, outcome });
      const { intent } = write;
      if (outcome.result !== "Executed" || intent.verb === "create") continue;
      events.record({
        ...{ regarding: intent.target, type: "Normal", reason: intent.eventReason, action: intent.eventReason },
        note: `${intent.why}.`,
      });
    }
    return outcomes;
  }

  async #passObject(name: string, mayWrite: () => boolean): Promise<PassResult> {
    const { store, readers } = this.#ports;
    const cached = this.#ports.caches.clusterObjects().find(({ metadata }) => metadata.name === name);
    if (cached === undefined) return { next: "forget" };
    const namespaces = await orNone(this.#facts.namespaces());
    if (!this.#results.hasAll(namespaces)) return { next: "recheck", afterMs: UNTIL_COMPLETE_MS };
    const status = this.#statusOf(cached, namespaces);
    if (isSame(cached, status) || !mayWrite()) return { next: "recheck" };
    const object = await withDeadline(readers.clock, STORE_DEADLINE_MS, "reading the object", () => store.get(name));
    if (object?.metadata.uid !== cached.metadata.uid || object.metadata.deletionTimestamp !== undefined)
      return { next: "recheck" };
    const live = this.#statusOf(object, namespaces);
    if (isSame(object, live) || !mayWrite()) return { next: "recheck" };
    await withDeadline(readers.clock, STORE_DEADLINE_MS, "writing status", () => store.writeStatus(object, live));
    this.#tell(object, live);
    return { next: "recheck" };
  }

  #statusOf(object: ClusterControllerResilience, namespaces: readonly string[]) {
    const found = this.#results.of(object.metadata.uid, namespaces, this.#nowMs());
    const results = namespaces.length === 0 ? [NO_NAMESPACES] : found;
    return clusterStatus(object, results, this.#results.coverage(), this.#ports.readers.clock.now());
  }

  /** An Event for each condition that comes to need a person. */
  #tell(object: ClusterControllerResilience, { conditions = [] }: ReturnType<typeof clusterStatus>): void {
    const stalled = conditions.find(({ type, status }) => type === ConditionType.Stalled && status === "True");
    const before = object.status?.conditions?.find(({ type }) => type === ConditionType.Stalled);
    if (stalled === undefined || (before?.status === "True" && before.reason === stalled.reason)) return;
    const regarding = refTo(object);
    const note = stalled.message;
    this.#ports.events.record({ regarding, type: "Warning", reason: stalled.reason, action: "Protect", note });
  }

  async #passCoverage(): Promise<PassResult> {
    const namespaces = await this.#facts.namespaces();
    if (!this.#results.hasAll(namespaces)) return { next: "recheck", afterMs: UNTIL_COMPLETE_MS };
    this.#ports.metrics.workloads(this.#results.coverage().counts);
    return { next: "recheck" };
  }

  #reportSoon(): void {
    this.#enqueue("coverage", ["all"]);
    this.loop.enqueueNamespace("objects" satisfies Part);
  }

  #nowMs(): number {
    return this.#ports.readers.clock.monotonicMs();
  }
}

/** No cluster is without namespaces. */
const NO_NAMESPACES: NamespaceResult = {
  namespace: "*",
  failure: {
    reason: "Refused",
    message: "the operator may not list Namespaces; install it with permissions in all namespaces (value namespaces)",
  },
};

/** An operator with permissions in some namespaces only may not list them: the status says so. */
async function orNone(namespaces: Promise<string[]>): Promise<string[]> {
  try {
    return await namespaces;
  } catch (error) {
    if (error instanceof ForbiddenError) return [];
    throw error;
  }
}

function afterWrites(outcomes: readonly Outcome[]): PassResult {
  if (outcomes.some(({ result }) => result === "Failed" || result === "Conflict"))
    return { next: "retry", conflict: !outcomes.some(({ result }) => result === "Failed") };
  const waits = outcomes.flatMap(outcome => ("retryAfterMs" in outcome ? [outcome.retryAfterMs] : []));
  return waits.length === 0 ? { next: "recheck" } : { next: "wait", afterMs: Math.min(...waits) };
}

function isSame({ status }: ClusterControllerResilience, next: object): boolean {
  return isSameStatus(status as never, next as never);
}

function refTo({ metadata: { name, uid } }: ClusterControllerResilience): ObjectRef {
  return { apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]), kind: CLUSTER_KIND, name, uid };
}
