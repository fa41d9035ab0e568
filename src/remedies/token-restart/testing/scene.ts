import type { ControllerResilience, TokenRestartSpec } from "../../../api/controller-resilience";
import type { Report } from "../../../core/remedy";
import type { Outcome } from "../../../core/intent";
import type { RequestRates } from "../../../core/readers";
import type { KeyRotation } from "../../../core/signing-keys";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import { binding, container, pod, workload } from "../../../core/testing/views";
import type { BindingView, PodView, SandboxEventView, ServiceAccountView } from "../../../core/views";
import { FakeLogs } from "../../../logs/testing/fake-logs";
import { RemedyScene, type ScenePass } from "../../kit/testing/remedy-scene";
import { createTokenRestart } from "../remedy";

export { type ScenePass };

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

/** A namespace with the Deployment `web` of one pod, a ControllerResilience for it, and the remedy. */
export class Scene extends RemedyScene {
  override readonly logs = new FakeLogs();
  remedy = createTokenRestart();
  accounts = new Map<string, ServiceAccountView>();
  object: ControllerResilience;
  sandboxEventList: SandboxEventView[] = [];
  /** One RoleBinding, of a controller that uses the API server. */
  override bindingList: BindingView[] = [
    binding({ subjects: [{ kind: "ServiceAccount", namespace: "team", name: "web" }] }),
  ];
  /** What the published keys prove. */
  rotation: KeyRotation | undefined;
  lacking: string | undefined;
  /** What the API servers count. */
  rates: Partial<RequestRates> = {};
  /** Of the API server. */
  audiences: readonly string[] = [];
  /** The user that the operator is. */
  operator: string | undefined;

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

  /** Adds a log line now. */
  log(text: string, pod = "web-5d-a"): void {
    this.logs.write(pod, "main", { ms: this.nowMs, text });
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

  override sandboxEvents(): Promise<readonly SandboxEventView[]> {
    return this.answer("sandboxEvents", [...this.sandboxEventList]);
  }

  override serviceAccount(_namespace: string, name: string): Promise<ServiceAccountView | null> {
    return this.answer("serviceAccount", this.accounts.get(name) ?? null);
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

  /** As {@link RemedyScene.report}. Blocked restarts, and those with a backoff, are pending in later passes. */
  override report(pass: ScenePass, outcome: Outcome, backoffMs = 0): Report {
    const waitMs = outcome.result === "Blocked" ? outcome.retryAfterMs : backoffMs;
    const untilMs = this.nowMs + waitMs;
    const failed = waitMs > 0 ? pass.intents : [];
    const restarts = failed.flatMap(({ restart }) => (restart ? [{ restart, outcome, untilMs }] : []));
    this.pending = [...this.pending.filter(one => one.untilMs > this.nowMs), ...restarts];
    return super.report(pass, outcome);
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
