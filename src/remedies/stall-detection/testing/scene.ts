import type { ControllerResilience, RestartStatus, StallDetectionSpec } from "../../../api/controller-resilience";
import { followLease, type LeaseReading, type LeaseTrack, type LeaseView } from "../../../core/leases";
import type { Report } from "../../../core/remedy";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import { outcomesOf } from "../../../core/testing/remedy-contract";
import { binding as bindingOf, container as containerOf, pod as podOf, workload } from "../../../core/testing/views";
import type { BindingView, ContainerView, PodView } from "../../../core/views";
import type { PodMetricsReading, PodMetricsTrack } from "../../../core/pod-metrics";
import { followPage } from "../../../evidence/metrics/page";
import { pageOf, type Program } from "../../../evidence/metrics/testing/page";
import { FakeLogs } from "../../../logs/testing/fake-logs";
import { RemedyScene, type ScenePass } from "../../kit/testing/remedy-scene";
import { createStallDetection } from "../remedy";

export { type ScenePass, workload };

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

/** A namespace with the Deployment `web` of one pod that renews the Lease `web`, a ControllerResilience for it, and the remedy. */
export class Scene extends RemedyScene {
  override readonly logs = new FakeLogs();
  remedy = createStallDetection();
  leaseList: LeaseView[] = [];
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

  /** Adds a log line now. */
  log(text: string, pod = "web-5d-a"): void {
    this.logs.write(pod, "main", { ms: this.nowMs, text });
  }

  /** A Ready pod of the Deployment, created an hour ago. */
  pod(name: string, over: Partial<PodView> = {}, container: Partial<ContainerView> = {}): PodView {
    const createdAtMs = over.createdAtMs ?? this.nowMs - 3_600_000;
    const containers = [containerOf({ startedAtMs: createdAtMs + 2_000, ...container })];
    return podOf({ name, uid: `uid-${name}`, createdAtMs, readySinceMs: createdAtMs + 5_000, containers, ...over });
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

  /** Another pod comes for the first one. */
  replace(name: string): void {
    this.podList = [this.pod(name, { createdAtMs: this.nowMs }), ...this.podList.slice(1)];
  }

  /** Someone takes the Lease, with a new acquireTime. */
  take(holder: string, name = "web"): void {
    const now = this.clock.now().toISOString();
    this.leaseList = this.leaseList.map(one =>
      one.name === name ? { ...one, holder, acquired: now, renewed: now, resourceVersion: String(this.nowMs) } : one,
    );
  }

  /** The pod renews its Lease for long enough to be followed, and then no more. */
  async hang(): Promise<void> {
    await this.run(120);
    this.renewer = undefined;
  }

  /** A pod takes the Lease `web`, and renews it. */
  lead(holder: string): void {
    this.take(holder);
    this.renewer = holder;
  }

  /** The holder of the Lease `web` releases it as client-go does. */
  release(): void {
    this.take("");
    this.leaseList = this.leaseList.map(one => (one.holder === "" ? { ...one, durationMs: 1_000 } : one));
  }

  /** Time passes in steps of the readings; before each, the renewer renews its Lease and `each` runs. `everyMs`: time between two passes. */
  async run(seconds: number, each: () => void = () => undefined, everyMs = INTERVAL_MS): Promise<ScenePass> {
    let pass = await this.pass();
    for (let at = INTERVAL_MS; at <= seconds * 1_000; at += INTERVAL_MS) {
      this.time.advance(INTERVAL_MS);
      if (this.renewer !== undefined) this.renew(this.renewer);
      each();
      this.#read();
      if (at % everyMs === 0 || at === seconds * 1_000) pass = await this.pass();
    }
    return pass;
  }

  /** As {@link run}, but the remedy has a pass each ten minutes only. Leases are read as often as ever. */
  wait(seconds: number): Promise<ScenePass> {
    return this.run(seconds, undefined, SELDOM_MS);
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

  /** Another process leads: it knows status only, and its first reading comes with time. */
  failOver(): void {
    this.remedy = createStallDetection();
    this.#tracks = new Map();
    this.#readMs = this.#countedFromMs = undefined;
  }

  /** Records the restarts of a pass as executed, and reports on it. */
  executed(pass: ScenePass, outcome: RestartStatus["outcome"] = "Restarted"): Report {
    for (const intent of pass.intents) this.noteRestart(intent, outcome);
    return pass.planned.report(outcomesOf(pass.plan, { result: "Executed" }), this.clock.now());
  }
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
  const subjects = [{ kind: "ServiceAccount", namespace: "team", name: "web" }];
  return bindingOf({ name: "web-rights", subjects, ...over });
}
