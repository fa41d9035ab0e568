import type { ControllerResilience, RestartStatus, TokenRestartSpec } from "../../../api/controller-resilience";
import type { Mode, PendingWrite, PlannedPass, Report } from "../../../core/remedy";
import type { Intent, Outcome } from "../../../core/intent";
import type { RequestRates } from "../../../core/readers";
import type { KeyRotation } from "../../../core/signing-keys";
import { runToEnd } from "../../../core/slices";
import { EmptyReaders } from "../../../core/testing/empty-readers";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import { intentsOf, outcomesOf } from "../../../core/testing/remedy-sample";
import { executedRestart } from "../../../restarts/testing/history";
import type {
  BindingKind,
  BindingView,
  PodView,
  SandboxEventView,
  ServiceAccountView,
  WorkloadView,
} from "../../../core/views";
import { createTokenRestart } from "../remedy";
import { container, FakeLogs, pod } from "./fake-log";

/** Defaults of the schema. */
export const DEFAULTS: TokenRestartSpec = {
  evidence: ["Logs", "ServiceAccountAge", "SandboxEvents"],
  minDuration: "60s",
  containers: [],
  cooldown: "10m",
  maxRestarts: 3,
  maxUnavailable: 1,
};

/** A 401 as client-go logs it. */
export const UNAUTHORIZED =
  'E0101 00:00:00.000000 1 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"';

/** A pass without execution: the report, and what the plan contains. */
export interface ScenePass extends Report {
  readonly intents: readonly Intent[];
  readonly restarts: readonly RestartStatus[];
  readonly planned: PlannedPass;
}

type Answered = "pods" | "workload" | "serviceAccount" | "sandboxEvents" | BindingKind;

/** A namespace with the Deployment `web` of one pod, a ControllerResilience for it, and the remedy. */
export class Scene extends EmptyReaders {
  override readonly logs = new FakeLogs();
  remedy = createTokenRestart();
  workloadList: WorkloadView[] = [workload()];
  podList: PodView[];
  accounts = new Map<string, ServiceAccountView>();
  object: ControllerResilience;
  /** Wins over spec.mode. */
  judged: Mode | undefined;
  sandboxEventList: SandboxEventView[] = [];
  /** One RoleBinding, of a controller that uses the API server. */
  bindingList: BindingView[] = [binding({ subjects: [{ kind: "ServiceAccount", namespace: "team", name: "web" }] })];
  /** What the published keys prove. */
  rotation: KeyRotation | undefined;
  lacking: string | undefined;
  /** What the API servers count. */
  rates: Partial<RequestRates> = {};
  /** Of the API server. */
  audiences: readonly string[] = [];
  /** The user that the operator is. */
  operator: string | undefined;
  /** Errors of readers. */
  failing: Partial<Record<Answered, Error>> = {};
  #pending: PendingWrite[] = [];

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

  get mode(): Mode {
    return this.judged ?? this.object.spec.mode;
  }

  /** A Ready pod, created at an offset from now. */
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

  /** A ServiceAccount, created at an offset from now. */
  account(uid: string, offsetMs: number, name = "web"): ServiceAccountView {
    return { namespace: "team", name, uid, createdAtMs: this.clock.now().getTime() + offsetMs };
  }

  /** Adds a log line now. */
  log(text: string, podName = "web-5d-a"): void {
    this.logs.write(podName, "main", { ms: this.clock.now().getTime(), text });
  }

  override pods(): Promise<readonly PodView[]> {
    return this.#answer("pods", this.podList);
  }

  override sandboxEvents(): Promise<readonly SandboxEventView[]> {
    return this.#answer("sandboxEvents", [...this.sandboxEventList]);
  }

  override workload(kind: WorkloadView["kind"], _namespace: string, name: string): Promise<WorkloadView | null> {
    return this.#answer("workload", this.workloadList.find(one => one.kind === kind && one.name === name) ?? null);
  }

  override workloads(kind: WorkloadView["kind"]): Promise<readonly WorkloadView[]> {
    return this.#answer(
      "workload",
      this.workloadList.filter(one => one.kind === kind),
    );
  }

  override serviceAccount(_namespace: string, name: string): Promise<ServiceAccountView | null> {
    return this.#answer("serviceAccount", this.accounts.get(name) ?? null);
  }

  override bindings(kind: BindingKind): Promise<readonly BindingView[]> {
    return this.#answer(
      kind,
      this.bindingList.filter(one => one.kind === kind),
    );
  }

  override requestRates(): Promise<RequestRates> {
    return Promise.resolve({ spans: {}, servers: { found: 1, read: 1 }, ...this.rates });
  }

  override keyRotation(): Promise<KeyRotation | undefined> {
    return Promise.resolve(this.rotation);
  }

  override serverWithoutKey(): Promise<string | undefined> {
    return Promise.resolve(this.lacking);
  }

  override apiAudiences(): Promise<readonly string[]> {
    return Promise.resolve(this.audiences);
  }

  override ownUser(): Promise<string | undefined> {
    return Promise.resolve(this.operator);
  }

  #answer<T>(what: Answered, value: T): Promise<T> {
    const error = this.failing[what];
    return error === undefined ? Promise.resolve(value) : Promise.reject(error);
  }

  /** Observes, plans and reports without execution, and writes status. */
  async pass(): Promise<ScenePass> {
    const observation = await this.remedy.observe({ ...this.object, mode: this.mode }, this);
    const now = this.clock.now();
    const pending = this.#pending.filter(({ untilMs }) => untilMs > now.getTime());
    const planned = runToEnd(observation.plan(now, pending));
    const { plan } = planned;
    const report = planned.report(new Map(), now);
    const written = { ...report.lists, ...(plan.restarts && { restarts: [...plan.restarts] }) };
    this.object = { ...this.object, status: { ...this.object.status, ...written } };
    return { ...report, intents: intentsOf(plan), restarts: plan.restarts ?? [], planned };
  }

  /** Runs a pass every five seconds, each after `step`; returns the last pass. */
  async passes(count: number, step: (second: number) => void = () => undefined): Promise<ScenePass> {
    let pass = await this.pass();
    for (let i = 1; i <= count; i++) {
      this.clock.advance(5_000);
      step(i * 5);
      pass = await this.pass();
    }
    return pass;
  }

  /** Runs passes for some minutes, while these pods log a 401 every five seconds. */
  live(minutes: number, isDead: (pod: string) => boolean = () => true): Promise<ScenePass> {
    return this.passes(minutes * 12, () => {
      for (const { name } of this.podList) if (isDead(name)) this.log(UNAUTHORIZED, name);
    });
  }

  /** Another process leads: it knows status and the logs only. */
  failOver(): void {
    this.remedy = createTokenRestart();
  }

  /** Records a restart in status, as the executor does. */
  noteRestart(intent: Intent, outcome: RestartStatus["outcome"] = "Restarted"): void {
    if (intent.restart === undefined) throw new Error("expected an intent that restarts something");
    const entry = executedRestart(intent.restart, this.clock.now(), outcome);
    this.object = {
      ...this.object,
      status: { ...this.object.status, restarts: [...(this.object.status?.restarts ?? []), entry] },
    };
  }

  /** Reports on a pass with this outcome of all its intents, and writes status. Blocked writes, and those with a backoff, are pending in later passes. */
  report({ planned, intents }: ScenePass, outcome: Outcome, backoffMs = 0): Report {
    const now = this.clock.now();
    if (outcome.result === "Blocked" || backoffMs > 0) {
      const untilMs = now.getTime() + (outcome.result === "Blocked" ? outcome.retryAfterMs : backoffMs);
      this.#pending = [
        ...this.#pending.filter(({ untilMs: one }) => one > now.getTime()),
        ...intents.map(({ verb, target, restart }) => {
          return { verb, target, outcome, untilMs, ...(restart && { restart }) };
        }),
      ];
    }
    const report = planned.report(outcomesOf(planned.plan, outcome), now);
    this.object = { ...this.object, status: { ...this.object.status, ...report.lists } };
    return report;
  }

  /** Replaces an evicted pod by a successor that is Ready a second later, and logs its start. */
  replacePod(name: string, successor: string, logs: "started" | "nothing" = "started"): void {
    const createdAtMs = Math.floor(this.clock.now().getTime() / 1000) * 1000;
    this.podList = this.podList.filter(one => one.name !== name);
    this.podList.push(
      this.podAt(0, { name: successor, uid: `uid-${successor}`, createdAtMs, readySinceMs: createdAtMs + 1_000 }),
    );
    this.logs.write(successor, "main");
    if (logs === "started") this.logs.write(successor, "main", { ms: createdAtMs + 1_000, text: "started" });
  }
}

/** The Deployment `web` with several pods, `web-5d-0` and so on. */
export function replicated(
  pods: number,
  spec: Partial<TokenRestartSpec> = {},
  over: (i: number) => Partial<PodView> = () => ({}),
): Scene {
  const scene = new Scene(spec);
  scene.workloadList = [workload({ replicas: pods })];
  scene.podList = Array.from({ length: pods }, (_, i) =>
    scene.podAt(-3_600_000 - i, { name: `web-5d-${i}`, uid: `uid-${i}`, ...over(i) }),
  );
  return scene;
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

/** A RoleBinding. */
export function binding(over: Partial<BindingView> = {}): BindingView {
  return {
    kind: "RoleBinding",
    namespace: "team",
    name: "rights",
    uid: "b",
    resourceVersion: "7",
    createdAtMs: 0,
    labels: {},
    annotations: {},
    skip: false,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "rights" },
    subjects: [],
    ...over,
  };
}
