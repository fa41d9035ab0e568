import type { ControllerResilience, RestartStatus, StallDetectionSpec } from "../../../api/controller-resilience";
import type { Intent } from "../../../core/intent";
import { followLease, type LeaseReading, type LeaseTrack, type LeaseView } from "../../../core/leases";
import type { PendingWrite, Plan, PlannedPass, Report } from "../../../core/remedy";
import { runToEnd } from "../../../core/slices";
import { EmptyReaders } from "../../../core/testing/empty-readers";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import { intentsOf, outcomesOf } from "../../../core/testing/remedy-sample";
import { executedRestart } from "../../../restarts/testing/history";
import type { BindingKind, BindingView, ContainerView, PodView, WorkloadView } from "../../../core/views";
import { FakeLogs } from "../../../logs/testing/fake-logs";
import type { PodMetricsReading, PodMetricsTrack } from "../../../core/pod-metrics";
import { followPage } from "../../../evidence/metrics/page";
import { pageOf, type Program } from "../../../evidence/metrics/testing/page";
import { createStallDetection } from "../remedy";

/** Defaults of the schema. */
export const DEFAULTS: StallDetectionSpec = {
  evidence: ["Lease", "Forbidden", "LeaderLoss"],
  for: "5m",
  onStall: "Report",
  leases: [],
};

/** Time between two readings of Leases. */
const INTERVAL_MS = 10_000;

/** Time between two passes while nothing is expected to happen. */
const SELDOM_MS = 600_000;

/** One pass of the remedy. */
export interface ScenePass extends Report {
  readonly intents: readonly Intent[];
  readonly planned: PlannedPass;
  readonly plan: Plan;
}

/** A namespace with the Deployment `web` of one pod that renews the Lease `web`, a ControllerResilience for it, and the remedy. */
export class Scene extends EmptyReaders {
  override readonly logs = new FakeLogs();
  remedy = createStallDetection();
  workloadList: WorkloadView[] = [workload()];
  podList: PodView[];
  leaseList: LeaseView[] = [];
  bindingList: BindingView[] = [];
  object: ControllerResilience;
  /** The process that renews the Lease each step; undefined: none does. */
  renewer: string | undefined = "web-5d-a_0b5c";
  /** The API server does not answer readings of Leases. */
  isDown = false;
  /** By name of a pod: what it serves as metrics, or why that cannot be read. */
  readonly pages = new Map<string, Program | string>();
  readonly #metrics = new Map<string, PodMetricsTrack>();
  #tracks = new Map<string, LeaseTrack>();
  #readMs: number | undefined;
  #countedFromMs: number | undefined;
  #troubleMs = -Infinity;
  pending: PendingWrite[] = [];

  constructor(spec: Partial<StallDetectionSpec> = {}) {
    super(new FakeClock("2025-01-01T12:00:00Z"));
    this.podList = [this.pod("web-5d-a")];
    this.logs.write("web-5d-a", "main");
    this.leaseList = [lease({ holder: "web-5d-a_0b5c" })];
    this.object = makeObject("team/it", {
      targets: [{ kind: "Deployment", name: "web" }],
      stallDetection: { ...DEFAULTS, ...spec },
    });
  }

  get time(): FakeClock {
    return this.clock as FakeClock;
  }

  get nowMs(): number {
    return this.clock.now().getTime();
  }

  /** A Ready pod of the Deployment, created an hour ago. */
  pod(name: string, over: Partial<PodView> = {}, container: Partial<ContainerView> = {}): PodView {
    const createdAtMs = over.createdAtMs ?? this.nowMs - 3_600_000;
    return {
      ...{ namespace: "team", name, uid: `uid-${name}`, resourceVersion: "1", createdAtMs, phase: "Running" },
      ...{ ready: true, readySinceMs: createdAtMs + 5_000, serviceAccountName: "web", skip: false },
      labels: { "pod-template-hash": "5d" },
      owner: { kind: "ReplicaSet", name: "web-5d", uid: "rs" },
      containers: [
        { name: "main", role: "main", restartCount: 0, running: true, startedAtMs: createdAtMs + 2_000, ...container },
      ],
      ...over,
    };
  }

  /** Replaces a container's life. */
  restartContainer(name: string): void {
    this.podList = this.podList.map(pod => {
      if (pod.name !== name) return pod;
      const startedAtMs = this.nowMs;
      return {
        ...pod,
        containers: pod.containers.map(one => ({ ...one, restartCount: one.restartCount + 1, startedAtMs })),
      };
    });
    this.logs.restart(name, "main");
  }

  /** Adds a log line now. */
  log(text: string, pod = "web-5d-a"): void {
    this.logs.write(pod, "main", { ms: this.nowMs, text });
  }

  /** Someone takes the Lease, with a new acquireTime. */
  take(holder: string, name = "web"): void {
    const now = this.clock.now().toISOString();
    this.leaseList = this.leaseList.map(one =>
      one.name === name ? { ...one, holder, acquired: now, renewed: now, resourceVersion: String(this.nowMs) } : one,
    );
  }

  /** The holder of the Lease `web` releases it as client-go does. */
  release(): void {
    this.take("");
    this.leaseList = this.leaseList.map(one => (one.holder === "" ? { ...one, durationMs: 1_000 } : one));
  }

  /** Time passes in steps of the readings; before each, the renewer renews its Lease and `each` runs. */
  async run(seconds: number, each: () => void = () => undefined): Promise<ScenePass> {
    let pass = await this.pass();
    for (let at = 0; at < seconds * 1_000; at += INTERVAL_MS) {
      this.time.advance(INTERVAL_MS);
      if (this.renewer !== undefined) this.renew(this.renewer);
      each();
      this.#read();
      pass = await this.pass();
    }
    return pass;
  }

  /** As {@link run}, but the remedy has a pass each ten minutes only. Leases are read as often as ever. */
  async wait(seconds: number): Promise<ScenePass> {
    let pass = await this.pass();
    for (let at = INTERVAL_MS; at <= seconds * 1_000; at += INTERVAL_MS) {
      this.time.advance(INTERVAL_MS);
      if (this.renewer !== undefined) this.renew(this.renewer);
      this.#read();
      if (at % SELDOM_MS === 0 || at + INTERVAL_MS > seconds * 1_000) pass = await this.pass();
    }
    return pass;
  }

  /** The holder renews its Lease. */
  renew(holder: string): void {
    const renewed = this.clock.now().toISOString();
    const resourceVersion = String(this.nowMs);
    this.leaseList = this.leaseList.map(one => (one.holder === holder ? { ...one, renewed, resourceVersion } : one));
  }

  #read(): void {
    const nowMs = this.clock.monotonicMs();
    if (this.isDown) {
      this.#countedFromMs = undefined;
      this.#troubleMs = nowMs;
      return;
    }
    const fromMs = Math.max(this.#countedFromMs ?? Infinity, this.#troubleMs + 60_000);
    const moment = { nowMs: this.nowMs, countedMs: Math.max(0, nowMs - fromMs) };
    const tracks = this.leaseList.map(view => followLease(this.#tracks.get(view.name), view, moment));
    this.#tracks = new Map(tracks.map(track => [track.name, track]));
    this.#readMs = this.#countedFromMs = nowMs;
  }

  override leases(namespace: string, maxAgeMs = Infinity): Promise<LeaseReading> {
    if (this.#readMs === undefined || this.clock.monotonicMs() - this.#readMs >= maxAgeMs) this.#read();
    const leases = [...this.#tracks.values()].filter(track => track.namespace === namespace);
    return Promise.resolve({
      ...{ leases, intervalMs: INTERVAL_MS },
      ...(this.#readMs === undefined ? {} : { readMs: this.#readMs }),
      ...(this.isDown ? { unknown: { forbidden: false, message: "list leases in team: timed out" } } : {}),
    });
  }

  override podMetrics({ uid, name }: PodView): PodMetricsReading {
    const program = this.pages.get(name);
    if (program === undefined || typeof program === "string")
      return program === undefined ? {} : { unknown: { forbidden: false, message: program } };
    const [known, nowMs] = [this.#metrics.get(uid), this.clock.monotonicMs()];
    if (known !== undefined && nowMs - known.readMs < 30_000) return { track: known };
    const track = followPage(known, pageOf(program), nowMs);
    this.#metrics.set(uid, track);
    return { track };
  }

  override pods(): Promise<readonly PodView[]> {
    return Promise.resolve(this.podList);
  }

  override workload(kind: WorkloadView["kind"], _namespace: string, name: string): Promise<WorkloadView | null> {
    return Promise.resolve(this.workloadList.find(one => one.kind === kind && one.name === name) ?? null);
  }

  override bindings(kind: BindingKind): Promise<readonly BindingView[]> {
    return Promise.resolve(this.bindingList.filter(one => one.kind === kind));
  }

  /** Observes, plans and reports without execution, and writes status. */
  async pass(): Promise<ScenePass> {
    const observation = await this.remedy.observe({ ...this.object, mode: this.object.spec.mode }, this);
    const now = this.clock.now();
    const planned = runToEnd(observation.plan(now, this.pending));
    const { plan } = planned;
    const report = planned.report(new Map(), now);
    const written = { ...report.lists, ...(plan.restarts && { restarts: [...plan.restarts] }) };
    this.object = { ...this.object, status: { ...this.object.status, ...written } };
    return { ...report, intents: intentsOf(plan), planned, plan };
  }

  /** Another process leads: it knows status only, and its first reading comes with time. */
  failOver(): void {
    this.remedy = createStallDetection();
    this.#tracks = new Map();
    this.#readMs = this.#countedFromMs = undefined;
  }

  /** The report of a pass with this outcome of all its intents; an executed restart is in status then. */
  executed({ planned, intents }: ScenePass, outcome: RestartStatus["outcome"] = "Restarted"): Report {
    const restarts = intents.flatMap(({ restart }) => restart ?? []);
    const entries = restarts.map(claim => executedRestart(claim, this.clock.now(), outcome));
    const before = this.object.status?.restarts ?? [];
    this.object = { ...this.object, status: { ...this.object.status, restarts: [...before, ...entries] } };
    return planned.report(outcomesOf(planned.plan, { result: "Executed" }), this.clock.now());
  }
}

/** The Deployment `web`. */
export function workload(over: Partial<WorkloadView> = {}): WorkloadView {
  return {
    ...{ kind: "Deployment", namespace: "team", name: "web", uid: "w", resourceVersion: "7", labels: { app: "web" } },
    ...{ skip: false, serviceAccountName: "web", replicas: 1 },
    ...over,
  };
}

/** The Lease `web`, of client-go's default duration. */
export function lease(over: Partial<LeaseView> = {}): LeaseView {
  return {
    ...{ namespace: "team", name: "web", uid: "l", resourceVersion: "1", holder: "", durationMs: 15_000 },
    ...{ acquired: "2025-01-01T11:00:00.000000Z", renewed: "2025-01-01T11:59:59.000000Z" },
    ...over,
  };
}

/** A RoleBinding of the ServiceAccount `web`. */
export function binding(over: Partial<BindingView> = {}): BindingView {
  return {
    ...{ kind: "RoleBinding", namespace: "team", name: "web-rights", uid: "b", resourceVersion: "7", createdAtMs: 0 },
    ...{ labels: {}, annotations: {}, skip: false },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "web" },
    subjects: [{ kind: "ServiceAccount", namespace: "team", name: "web" }],
    ...over,
  };
}
