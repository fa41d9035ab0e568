import { expect } from "vitest";
import type { ControllerResilience, FlowIsolationSpec } from "../../../api/controller-resilience";
import { FINALIZER } from "../../../api/names";
import type { Outcomes, Plan } from "../../../core/remedy";
import type { Intent, Outcome } from "../../../core/intent";
import type { RequestRates } from "../../../core/readers";
import { FakeClock } from "../../../core/testing/fake-clock";
import { intentsOf, outcomesOf } from "../../../core/testing/remedy-contract";
import { makeObject } from "../../../core/testing/objects";
import { pod as podOf, workload as workloadOf } from "../../../core/testing/views";
import type { ClusterKind, ClusterObjectView, PodView, WorkloadView } from "../../../core/views";
import { RemedyScene, type ScenePass } from "../../kit/testing/remedy-scene";
import { createFlowIsolation } from "../remedy";
import { flowSchemaName } from "../objects";

/** The levels that the operator makes. */
export const SHARED = "controller-resilience-shared";
export const QUARANTINE_LEVEL = "controller-resilience-tar-pit";
export const LEASES = "controller-resilience-leases";

/** Seconds. */
export const MINUTES = 60;

/** What the API server defaults. */
export const DEFAULTS: FlowIsolationSpec = {
  requestRate: { threshold: 100, for: "30s", onRunaway: "Report", release: "5m" },
};

/** The defaults, but that a runaway is dealt with so. */
export function onRunaway(what: FlowIsolationSpec["requestRate"]["onRunaway"]): Partial<FlowIsolationSpec> {
  return { requestRate: { ...DEFAULTS.requestRate, onRunaway: what } };
}

/** The namespace `team` with the Deployment `app`, and a ControllerResilience for it. */
export class Scene extends RemedyScene {
  readonly remedy = createFlowIsolation();
  object: ControllerResilience;
  readonly written: Intent[] = [];
  /** The outcome of writes; absent: they are executed. */
  outcome: Outcome | undefined;
  /** Writes that fail while the others are executed. */
  isRefused: (intent: Intent) => boolean = () => false;
  unknown: string | undefined;
  /** Until when the API servers' clients may list again; absent: no server has changed. */
  settlingUntilMs: number | undefined;
  /** The operator's user name. */
  operator: string | undefined;
  /** Running pods of each ServiceAccount. */
  readonly running = new Map<string, number>();
  isServed = true;
  /** What reading FlowSchemas and levels fails with; absent: it does not. */
  problem: Error | undefined;
  /** Requests per second of each ServiceAccount, of other FlowSchemas, and of `401`. */
  readonly perSecond = new Map<string, number>();
  #readings: number[] = [];
  #keptMs = 900_000;
  readonly #spans = new Map<string, { fromMs: number; toMs: number; requests: number }[]>();

  constructor(
    spec: Partial<FlowIsolationSpec> = {},
    override readonly clock = new FakeClock("2025-01-01T00:00:00Z"),
    readonly world: World = { cluster: new Map(), workloads: new Map(), versions: 0 },
    key = "team/it",
  ) {
    super(clock);
    this.object = makeObject(key, { flowIsolation: { ...DEFAULTS, ...spec } });
    this.put("Deployment", "app");
  }

  /** Creates or replaces a workload. */
  put(kind: WorkloadView["kind"], name: string, over: Partial<WorkloadView> = {}): void {
    const { namespace } = this.object.metadata;
    const identity = { kind, namespace, name, uid: `uid-${kind}-${name}`, resourceVersion: `${++this.world.versions}` };
    const view = workloadOf({ ...identity, labels: {}, serviceAccountName: "app", replicas: 2, ...over });
    this.world.workloads.set(`${kind}/${name}`, view);
  }

  /** Another owner creates an object of flow control. */
  add(kind: ClusterKind, name: string, spec: Record<string, unknown>): void {
    this.world.cluster.set(name, {
      ...{ apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind, name, uid: `uid-${name}`, resourceVersion: "1" },
      ...{ createdAtMs: 0, labels: {}, annotations: {}, spec },
    });
  }

  /** Another writer changes an object. */
  edit(name: string, over: Partial<ClusterObjectView>): void {
    const view = this.world.cluster.get(name);
    if (view === undefined) throw new Error(`there is no ${name}`);
    this.world.cluster.set(name, { ...view, resourceVersion: `${++this.world.versions}`, ...over });
  }

  /** Name of the FlowSchema of a ServiceAccount. */
  schema(account = "app"): string {
    return flowSchemaName(this.object, account);
  }

  /** The level that a ServiceAccount is on. */
  level(account = "app"): unknown {
    const spec = this.world.cluster.get(this.schema(account))?.spec as
      | { readonly priorityLevelConfiguration: { readonly name: string } }
      | undefined;
    return spec?.priorityLevelConfiguration.name;
  }

  /** Changes the block, as a new generation. */
  change(spec: Partial<FlowIsolationSpec>): void {
    const { metadata } = this.object;
    const block = { ...DEFAULTS, ...this.object.spec.flowIsolation, ...spec };
    this.object = {
      ...this.object,
      metadata: { ...metadata, generation: metadata.generation + 1 },
      spec: { ...this.object.spec, flowIsolation: block },
    };
  }

  /** The entry of a ServiceAccount in status. */
  entry(account = "app") {
    return this.object.status?.flows?.find(({ serviceAccount }) => serviceAccount === account);
  }

  /** Time goes by in which ServiceAccounts make requests, and the counters are read. */
  async wait(seconds: number): Promise<void> {
    await this.clock.run(seconds * 1_000);
    await this.requestRates();
  }

  /** Passes until so many seconds have gone by, each when the one before asks for it. Returns the last report. */
  async run(seconds: number): Promise<ScenePass> {
    const endMs = this.clock.now().getTime() + seconds * 1_000;
    for (;;) {
      const decision = await this.pass();
      const leftMs = endMs - this.clock.now().getTime();
      if (leftMs <= 0) return decision;
      await this.wait(Math.min(leftMs, decision.recheckAfterMs ?? 60_000) / 1_000);
    }
  }

  /** Takes away what was made, as the engine does it when the object goes. */
  async cleanUp(): Promise<void> {
    for (let round = 0; round < 5; round++) {
      const intents = (await this.remedy.cleanUp?.(this.object, this)) ?? [];
      for (const intent of intents) this.#execute(intent);
      if (intents.length === 0) return;
    }
    throw new Error("cleaning up does not come to an end");
  }

  protected override execute = (plan: Plan): Outcomes => {
    this.#hold(plan);
    return outcomesOf(plan, intent => this.#execute(intent));
  };

  /** The finalizer comes before the first write, and goes when nothing is left. */
  #hold(plan: Plan): void {
    const { metadata } = this.object;
    const isHeld = (metadata.finalizers ?? []).length > 0;
    const isBegun = isHeld || (intentsOf(plan).length > 0 && this.mode === "Enforce");
    const isToBeHeld = plan.needsCleanup === true && isBegun;
    this.object = { ...this.object, metadata: { ...metadata, finalizers: isToBeHeld ? [FINALIZER] : [] } };
  }

  #isCounted(name: string): boolean {
    return name === "401" || this.world.cluster.has(name);
  }

  #execute(intent: Intent): Outcome {
    if (this.mode !== "Enforce") return { result: "Observed" };
    if (this.outcome !== undefined) return this.outcome;
    if (this.isRefused(intent)) return { result: "Failed", message: "no" };
    if (intent.skip) return { result: "Skipped" };
    this.written.push(intent);
    applyTo(this.world, intent);
    return { result: "Executed" };
  }

  override workload(kind: WorkloadView["kind"], _namespace: string, name: string): Promise<WorkloadView | null> {
    return Promise.resolve(this.world.workloads.get(`${kind}/${name}`) ?? null);
  }

  override workloads(kind: WorkloadView["kind"]): Promise<readonly WorkloadView[]> {
    return Promise.resolve([...this.world.workloads.values()].filter(view => view.kind === kind));
  }

  override pods(): Promise<readonly PodView[]> {
    const { namespace } = this.object.metadata;
    const named = [...this.running].flatMap(([serviceAccountName, count]) =>
      Array.from({ length: count }, (_, i) => ({ serviceAccountName, name: `${serviceAccountName}-${i}` })),
    );
    const pods = named.map(one => podOf({ namespace, uid: one.name, ...one }));
    return this.answer("pods", [...pods, ...this.podList]);
  }

  override clusterObjects(kind: ClusterKind): Promise<readonly ClusterObjectView[] | null> {
    if (this.problem !== undefined) return Promise.reject(this.problem);
    return Promise.resolve(this.isServed ? [...this.world.cluster.values()].filter(view => view.kind === kind) : null);
  }

  override ownUser(): Promise<string | undefined> {
    return Promise.resolve(this.operator);
  }

  /** As Readers; what is in the quarantine gets four requests per second through. */
  override requestRates(...[, countedMs]: [maxAgeMs?: number, countedMs?: number]): Promise<RequestRates> {
    const nowMs = this.clock.now().getTime();
    this.#keptMs = Math.max(this.#keptMs, countedMs ?? 0);
    const fromMs = this.#readings.at(-1);
    if (fromMs !== undefined && fromMs < nowMs) {
      for (const [account, perSecond] of this.perSecond) {
        const rate = this.level(account) === QUARANTINE_LEVEL ? 4 : perSecond;
        const spans = this.#spans.get(account) ?? [];
        const kept = spans.filter(span => nowMs - span.fromMs <= this.#keptMs);
        this.#spans.set(account, [...kept, { fromMs, toMs: nowMs, requests: (rate * (nowMs - fromMs)) / 1_000 }]);
      }
    }
    if (fromMs !== nowMs) this.#readings = [...this.#readings, nowMs];
    const spans = Object.fromEntries(
      [...this.#spans].map(([account, list]) => [this.#isCounted(account) ? account : this.schema(account), list]),
    );
    return Promise.resolve({
      spans,
      readMs: nowMs,
      servers: { found: 1, read: 1 },
      ...(this.settlingUntilMs === undefined ? {} : { settlingUntilMs: this.settlingUntilMs }),
      ...(this.unknown === undefined ? {} : { unknown: this.unknown }),
    });
  }
}

/** A cluster that does what intents ask for. */
interface World {
  /** FlowSchemas and levels, by name. */
  readonly cluster: Map<string, ClusterObjectView>;
  /** By kind and name. */
  readonly workloads: Map<string, WorkloadView>;
  versions: number;
}

interface Body {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Carries out an intent as the API server would, preconditions and all. @throws when these don't hold */
function applyTo(world: World, intent: Intent): void {
  const { target, verb } = intent;
  const { cluster } = world;
  const before = cluster.get(target.name);
  if (verb === "create") {
    if (before !== undefined) throw new Error(`${target.name} exists`);
  } else {
    checkPreconditions(before, intent);
  }
  if (verb === "delete") cluster.delete(target.name);
  else cluster.set(target.name, written(before, intent, `${++world.versions}`));
}

function checkPreconditions(view: ClusterObjectView | undefined, { target }: Intent): void {
  if (view === undefined || view.uid !== target.uid || view.resourceVersion !== target.resourceVersion) {
    throw new Error(`the preconditions on ${target.kind} ${target.name} do not hold`);
  }
}

function written(before: ClusterObjectView | undefined, { target, body }: Intent, version: string): ClusterObjectView {
  const { metadata, spec } = body as Body;
  return {
    createdAtMs: 0,
    ...before,
    apiVersion: target.apiVersion,
    kind: target.kind as ClusterKind,
    name: target.name,
    uid: before?.uid ?? `uid-${version}`,
    resourceVersion: version,
    labels: { ...before?.labels, ...metadata.labels },
    annotations: { ...before?.annotations, ...(metadata.annotations as Record<string, string>) },
    spec: spec ?? {},
    ...(target.kind === "FlowSchema" && { isDangling: false }),
  };
}

/** Runs passes until all objects exist and are in effect. */
export async function provisioned(scene = throttling()): Promise<Scene> {
  await scene.pass();
  await scene.pass();
  scene.written.length = 0;
  return scene;
}

/** Runs passes until the runaway is throttled: 21 s ago, for five minutes. */
export async function throttled(scene = throttling()): Promise<Scene> {
  await provisioned(scene);
  scene.perSecond.set("app", 5_000);
  await scene.run(61);
  expect([scene.entry()?.state, scene.level()]).toEqual(["Throttled", QUARANTINE_LEVEL]);
  return scene;
}

/** A scene with `onRunaway: Throttle`. */
export function throttling(key?: string): Scene {
  return new Scene(onRunaway("Throttle"), undefined, undefined, key);
}
