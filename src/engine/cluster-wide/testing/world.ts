import { afterEach } from "vitest";
import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
} from "../../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../../api/controller-resilience";
import type { ClusterObjectStore, ClusterWideCaches } from "../../../core/ports";
import { GoneError } from "../../../core/errors";
import type { Intent } from "../../../core/intent";
import type { KindWriters } from "../../../core/progress";
import { EmptyReaders } from "../../../core/testing/empty-readers";
import { FakeClock, settle } from "../../../core/testing/fake-clock";
import { binding as bindingOf, workload as workloadOf } from "../../../core/testing/views";
import type { BindingView, NamespaceView, ServiceAccountView, WorkloadView } from "../../../core/views";
import { RecordingEvents, RecordingLog, RecordingMetrics } from "../../testing/fakes";
import type { LoopSettings } from "../../loop/controller";
import { ClusterWide } from "../cluster-wide";
import type { FactsSettings } from "../facts";
import { carryOut, clusterObject, OPERATOR_NAMESPACE } from "./fixtures";

const started = new Set<ClusterWide>();
afterEach(() => {
  for (const engine of started) engine.stopLeading();
  started.clear();
});

/** A cluster in memory, whose caches are always up to date unless a test says otherwise. */
export class ClusterWideWorld implements ClusterWideCaches, ClusterObjectStore {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly events = new RecordingEvents();
  readonly metrics = new RecordingMetrics();
  readonly spaces = new Map<string, NamespaceView>();
  readonly found = new Map<string, readonly WorkloadView[]>();
  /** What live reads return in place of {@link found}. */
  readonly liveWorkloads = new Map<string, readonly WorkloadView[]>();
  readonly bound = new Map<string, readonly BindingView[]>();
  readonly all = new Map<string, readonly ControllerResilience[]>();
  readonly owners = new Map<string, ClusterControllerResilience>();
  readonly intents: Intent[] = [];
  statusWrites = 0;
  /** Undefined: they were not read yet. */
  kindWriters: readonly KindWriters[] | undefined;
  /** Called before each write; what it throws is the API server's answer. */
  onWrite: (intent: Intent) => void = () => undefined;
  /** What the API server makes of each object that is written. */
  stores = (object: ControllerResilience): ControllerResilience => object;
  isLeader = true;
  readonly engine: ClusterWide;
  #version = 1;

  constructor(settings: Partial<FactsSettings> = {}, loop: Partial<LoopSettings> = {}) {
    const live = new LiveReaders(this.clock, this);
    const writer = { write: (intent: Intent) => this.#write(intent) };
    this.engine = new ClusterWide(
      {
        ...{ caches: this, store: this, readers: live, writer, events: this.events, isLeader: () => this.isLeader },
        ...{ random: () => 0.5, log: this.log, metrics: this.metrics },
      },
      { ownNamespace: OPERATOR_NAMESPACE, isWatched: () => true, ...settings },
      loop,
    );
    started.add(this.engine);
  }

  /** A namespace with workloads that use the API. */
  addNamespace(name: string, workloads: readonly string[], labels: Readonly<Record<string, string>> = {}): void {
    this.spaces.set(name, { namespace: "", name, uid: `uid-${name}`, labels, annotations: {}, skip: false });
    this.found.set(
      name,
      workloads.map(workload => workloadView(name, workload)),
    );
    const subjects = [{ kind: "ServiceAccount", namespace: name, name: "default" }];
    this.bound.set(name, [bindingOf({ namespace: name, subjects })]);
  }

  put(object: ClusterControllerResilience): void {
    this.owners.set(object.metadata.name, object);
    this.engine.objectChanged(object.metadata.name);
  }

  /** A person changes the object `all`: another spec is another generation. */
  change(spec: object = {}, annotations: Readonly<Record<string, string>> = {}): void {
    const before = this.owners.get("all");
    if (before === undefined) throw new Error("expected the object all");
    const generation = before.metadata.generation + 1;
    this.put({
      ...before,
      metadata: { ...before.metadata, generation, annotations },
      spec: { ...before.spec, ...spec },
    });
  }

  /** Deletes an object, and what was generated for it, as the garbage collector does. */
  remove(name: string): void {
    this.owners.delete(name);
    this.all.clear();
    this.engine.objectChanged(name);
  }

  /** Lets the loop run for some seconds. */
  async run(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.clock.run(1_000);
      await settle();
    }
  }

  status(name: string): ClusterControllerResilienceStatus | undefined {
    return this.owners.get(name)?.status;
  }

  condition(name: string, type: string): string | undefined {
    const condition = this.status(name)?.conditions?.find(one => one.type === type);
    return condition && `${condition.status}/${condition.reason}: ${condition.message}`;
  }

  namespaces = () => Promise.resolve([...this.spaces.values()]);
  namespace = (name: string) => Promise.resolve(this.spaces.get(name));
  workloads = (namespace: string): Promise<readonly WorkloadView[]> => Promise.resolve(this.found.get(namespace) ?? []);
  serviceAccounts = (): Promise<readonly ServiceAccountView[]> => Promise.resolve([]);
  bindings = (namespace = ""): Promise<readonly BindingView[]> => Promise.resolve(this.bound.get(namespace) ?? NONE);
  attempted = () => Promise.resolve();
  objects = (namespace: string) => this.all.get(namespace) ?? [];
  clusterObjects = () => [...this.owners.values()];
  get = (name: string) => Promise.resolve(this.owners.get(name) ?? null);
  writeStatus = (object: ClusterControllerResilience, status: ClusterControllerResilienceStatus): Promise<void> => {
    const { name } = object.metadata;
    if (!this.owners.has(name)) return Promise.reject(new GoneError(`${name} is gone`));
    this.statusWrites++;
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    this.owners.set(name, { ...object, metadata, status: structuredClone(status) });
    return Promise.resolve();
  };

  #write(intent: Intent): Promise<unknown> {
    try {
      this.onWrite(intent);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    const namespace = intent.target.namespace ?? "";
    this.intents.push(intent);
    const write = { for: "", intent };
    const objects = carryOut(this.objects(namespace), { writes: [write], shares: new Map() });
    this.all.set(namespace, objects.map(this.stores));
    this.engine.namespaceChanged(namespace);
    return Promise.resolve(this.objects(namespace).find(({ metadata }) => metadata.name === intent.target.name));
  }
}

const NONE: readonly BindingView[] = [];

class LiveReaders extends EmptyReaders {
  constructor(
    clock: FakeClock,
    private readonly world: ClusterWideWorld,
  ) {
    super(clock);
  }
  override namespace = (name: string) => Promise.resolve(this.world.spaces.get(name) ?? null);
  override kindWriters = () => this.world.kindWriters;
  override objects = (namespace: string) => Promise.resolve(this.world.objects(namespace));
  override workloads(kind: WorkloadView["kind"], namespace: string): Promise<readonly WorkloadView[]> {
    const views = this.world.liveWorkloads.get(namespace) ?? this.world.found.get(namespace) ?? [];
    return Promise.resolve(views.filter(view => view.kind === kind));
  }
}

export function workloadView(namespace: string, workload: string, more: Partial<WorkloadView> = {}): WorkloadView {
  const [kind, name = ""] = workload.split("/");
  const identity = { kind: kind as WorkloadView["kind"], namespace, name, uid: `uid-${name}` };
  return workloadOf({ ...identity, labels: {}, serviceAccountName: "default", ...more });
}

/** Begins to lead in a world of these namespaces, which has the object `all` unless it has another one. */
export function startIn(world: ClusterWideWorld, ...namespaces: string[]): ClusterWideWorld {
  for (const name of namespaces) world.addNamespace(name, ["Deployment/web", "DaemonSet/agent"]);
  if (world.owners.size === 0) world.owners.set("all", clusterObject("all"));
  world.engine.startLeading();
  return world;
}
