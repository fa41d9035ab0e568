import type { ControllerResilience, RestartStatus, TokenRestartSpec } from "../../../api/controller-resilience";
import type { Intent, Outcome } from "../../../core/intent";
import type { Decision } from "../../../core/legacy-remedy";
import { requestedRestart } from "../../../core/restarts/budget";
import { EmptyReaders } from "../../../core/testing/empty-readers";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import type { PodView, SandboxEventView, ServiceAccountView, WorkloadView } from "../../../core/views";
import { createTokenRestart } from "../remedy";
import { container, FakeLogs, pod } from "./fake-log";

/** What the API server defaults. */
export const DEFAULTS: TokenRestartSpec = {
  evidence: ["Logs", "ServiceAccountAge", "SandboxEvents"],
  occasions: 3,
  window: "15m",
  minDuration: "60s",
  containers: [],
  extraPatterns: [],
  strategy: "Evict",
  cooldown: "10m",
  maxRestarts: 3,
  maxRestartsWindow: "1h",
  maxUnavailable: 1,
};

/** A 401 as client-go logs it. */
export const UNAUTHORIZED =
  'E0101 00:00:00.000000 1 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"';

type Answered = "pods" | "workload" | "serviceAccount" | "sandboxEvents";

/** A namespace with the Deployment `web` of one pod, a ControllerResilience for it, and the remedy. */
export class Scene extends EmptyReaders {
  override readonly logs = new FakeLogs();
  readonly remedy = createTokenRestart();
  workloadList: WorkloadView[] = [workload()];
  podList: PodView[];
  accounts = new Map<string, ServiceAccountView>();
  object: ControllerResilience;
  sandboxEventList: SandboxEventView[] = [];
  /** Thrown in place of an answer. */
  failing: Partial<Record<Answered, Error>> = {};

  constructor(
    spec: Partial<TokenRestartSpec> = {},
    override readonly clock = new FakeClock("2025-01-01T12:00:00Z"),
  ) {
    super(clock);
    this.podList = [this.podAt(-3_600_000, {})];
    this.accounts.set("web", this.account("sa-1", -86_400_000));
    this.logs.write("web-5d-a", "main");
    this.object = makeObject("team/it", {
      targets: [{ kind: "Deployment", name: "web" }],
      tokenRestart: { ...DEFAULTS, ...spec },
    });
  }

  /** A Ready pod, created that long from now (negative: ago). */
  podAt(offsetMs: number, over: Partial<PodView>): PodView {
    const createdAtMs = this.clock.now().getTime() + offsetMs;
    return pod({
      createdAtMs,
      readySinceMs: createdAtMs + 5_000,
      volumesReadyMs: createdAtMs + 1_000,
      containers: [container({ startedAtMs: createdAtMs + 2_000 })],
      ...over,
    });
  }

  /** A ServiceAccount created that long from now. */
  account(uid: string, offsetMs: number, name = "web"): ServiceAccountView {
    return { namespace: "team", name, uid, createdAtMs: this.clock.now().getTime() + offsetMs };
  }

  /** The pod logs a line now. */
  log(text: string, podName = "web-5d-a"): void {
    this.logs.write(podName, "main", { ms: this.clock.now().getTime(), text });
  }

  /** As Readers. */
  override pods(): Promise<readonly PodView[]> {
    return this.#answer("pods", this.podList);
  }

  /** As Readers. */
  override sandboxEvents(): Promise<readonly SandboxEventView[]> {
    return this.#answer("sandboxEvents", [...this.sandboxEventList]);
  }

  /** As Readers. */
  override workload(kind: WorkloadView["kind"], _namespace: string, name: string): Promise<WorkloadView | null> {
    return this.#answer("workload", this.workloadList.find(one => one.kind === kind && one.name === name) ?? null);
  }

  /** As Readers. */
  override workloads(kind: WorkloadView["kind"]): Promise<readonly WorkloadView[]> {
    return this.#answer(
      "workload",
      this.workloadList.filter(one => one.kind === kind),
    );
  }

  /** As Readers. */
  override serviceAccount(_namespace: string, name: string): Promise<ServiceAccountView | null> {
    return this.#answer("serviceAccount", this.accounts.get(name) ?? null);
  }

  #answer<T>(what: Answered, value: T): Promise<T> {
    const error = this.failing[what];
    return error === undefined ? Promise.resolve(value) : Promise.reject(error);
  }

  /** Observes and decides, and keeps this remedy's parts of status. */
  async pass(): Promise<Decision> {
    const spec = this.object.spec.tokenRestart ?? DEFAULTS;
    const facts = await this.remedy.observe(this.object, spec, this);
    const decision = this.remedy.decide(facts, spec, this.clock.now());
    this.object = { ...this.object, status: { ...this.object.status, ...decision.parts } };
    return decision;
  }

  /** Passes every five seconds, before each of which `step` may happen; the last decision. */
  async passes(count: number, step: (second: number) => void = () => undefined): Promise<Decision> {
    let decision = await this.pass();
    for (let i = 1; i <= count; i++) {
      this.clock.advance(5_000);
      step(i * 5);
      decision = await this.pass();
    }
    return decision;
  }

  /** What the executor notes of an eviction that went well. */
  noteRestart(intent: Intent, outcome: RestartStatus["outcome"] = "Restarted"): void {
    if (intent.restart === undefined) throw new Error("expected an intent that restarts something");
    const entry = { ...requestedRestart(intent.restart, this.clock.now()), outcome };
    this.object = {
      ...this.object,
      status: { ...this.object.status, restarts: [...(this.object.status?.restarts ?? []), entry] },
    };
  }

  /** What the remedy concludes from one outcome for all its intents. */
  conclude(decision: Decision, outcome: Outcome): Decision {
    const outcomes = decision.intents.map(intent => ({ intent, outcome }));
    return this.remedy.conclude?.(decision, outcomes, this.clock.now()) ?? decision;
  }

  /** The evicted pod goes, and a successor comes that is Ready a second later. */
  replacePod(name: string, successor: string): void {
    const createdAtMs = Math.floor(this.clock.now().getTime() / 1000) * 1000;
    this.podList = this.podList.filter(one => one.name !== name);
    this.podList.push(
      this.podAt(0, { name: successor, uid: `uid-${successor}`, createdAtMs, readySinceMs: createdAtMs + 1_000 }),
    );
    this.logs.write(successor, "main");
  }
}

/** The Deployment `web`. */
export function workload(over: Partial<WorkloadView> = {}): WorkloadView {
  return {
    kind: "Deployment",
    namespace: "team",
    name: "web",
    uid: "w",
    resourceVersion: "7",
    labels: { app: "web" },
    skip: false,
    serviceAccountName: "web",
    replicas: 1,
    ...over,
  };
}
