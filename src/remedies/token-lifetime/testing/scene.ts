import type { ControllerResilience, RestartStatus, TokenLifetimeSpec } from "../../../api/controller-resilience";
import type { Intent, Outcome } from "../../../core/intent";
import type { Decision } from "../../../core/legacy-remedy";
import { EmptyReaders } from "../../../core/testing/empty-readers";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import type { DaemonSetView, PodView, ServiceAccountView, WorkloadView } from "../../../core/views";
import type { PodLogReview, PodLogState, ReviewedLogs } from "../../../logs/pod-log-review";
import { createTokenLifetime } from "../remedy";
import { applyPatch } from "../template/testing/apply";
import type { TemplatePatch } from "../template";

/** What the API server defaults. */
export const DEFAULTS: TokenLifetimeSpec = {
  expirationSeconds: 600,
  via: "Template",
  defaultToken: "Project",
  revertOnUnauthorized: true,
};

/** A pod template without any volume, as most DaemonSets have it. */
export const PLAIN = { spec: { serviceAccountName: "agent", containers: [{ name: "main", image: "agent:1" }] } };

/** The namespace `team` with the DaemonSet `agent` on three nodes, and a ControllerResilience for it. */
export class Scene extends EmptyReaders implements PodLogReview {
  readonly remedy = createTokenLifetime(this);
  readonly sets = new Map<string, DaemonSetView>();
  podList: PodView[] = [];
  readonly logStates = new Map<string, PodLogState>();
  account: ServiceAccountView = { namespace: "team", name: "agent", uid: "sa", createdAtMs: 0 };
  /** Nobody has deleted it. */
  isAccountThere = true;
  stale: number | null = null;
  object: ControllerResilience;
  readonly written: Intent[] = [];
  /** What becomes of writes; absent: they are carried out. */
  outcome: Outcome | undefined;
  /** As this pass has settled them, which budgets are held against. */
  protected restarts: readonly RestartStatus[] = [];
  #pods = 0;

  constructor(
    spec: Partial<TokenLifetimeSpec> = {},
    override readonly clock = new FakeClock("2025-01-01T00:00:00Z"),
  ) {
    super(clock);
    this.object = makeObject("team/it", {
      targets: [{ kind: "DaemonSet", name: "agent" }],
      tokenLifetime: { ...DEFAULTS, ...spec },
    });
    this.put("agent", PLAIN);
    this.roll("agent", 3607);
  }

  /** Creates or replaces a DaemonSet. */
  put(name: string, template: object, over: Partial<DaemonSetView> = {}): void {
    const before = this.sets.get(name);
    const generation = (before?.generation ?? 0) + 1;
    this.sets.set(name, {
      kind: "DaemonSet",
      namespace: "team",
      name,
      uid: `uid-${name}`,
      resourceVersion: `${generation}`,
      labels: {},
      skip: false,
      serviceAccountName: "agent",
      replicas: 3,
      updateStrategy: "RollingUpdate",
      ownedVolumes: [],
      lastManager: "argocd-controller",
      ...before,
      generation,
      observedGeneration: generation,
      updatedPods: before === undefined ? 3 : 0,
      availablePods: 3,
      template: template as DaemonSetView["template"],
      ...over,
    });
  }

  /** The DaemonSet as it is. */
  set(name = "agent"): DaemonSetView {
    const view = this.sets.get(name);
    if (view === undefined) throw new Error(`there is no DaemonSet ${name}`);
    return view;
  }

  /** The DaemonSet controller has replaced so many pods (all by default) by ones with such a token. */
  roll(name: string, tokenExpirationSeconds: number, count = 3): void {
    const owned = this.podList.filter(({ owner }) => owner?.name === name);
    const others = this.podList.filter(({ owner }) => owner?.name !== name);
    const fresh = Array.from({ length: count }, () => this.makePod(name, tokenExpirationSeconds));
    this.podList = [...others, ...owned.slice(count), ...fresh];
    this.sets.set(name, { ...this.set(name), updatedPods: count });
  }

  /** Logs of all pods with such a token say so. */
  say(state: PodLogState, tokenExpirationSeconds?: number): void {
    for (const pod of this.podList) {
      if (tokenExpirationSeconds === undefined || pod.tokenExpirationSeconds === tokenExpirationSeconds) {
        this.logStates.set(pod.uid, state);
      }
    }
  }

  /** One pass, as the engine does it: observe, decide, carry out, conclude, write status. */
  async pass(): Promise<Decision> {
    const spec = this.object.spec.tokenLifetime ?? DEFAULTS;
    const facts = await this.remedy.observe(this.object, spec, this);
    const decision = this.remedy.decide(facts, spec, this.clock.now());
    this.restarts = decision.parts?.restarts ?? [];
    const executions = decision.intents.map(intent => ({ intent, outcome: this.execute(intent) }));
    const concluded =
      executions.length === 0 ? decision : (this.remedy.conclude?.(decision, executions, this.clock.now()) ?? decision);
    this.object = { ...this.object, status: { ...this.object.status, ...concluded.parts } };
    return concluded;
  }

  /** A pass whose operator dies before it can tell in status what it has written. */
  async passAndDie(): Promise<void> {
    const before = this.object;
    await this.pass();
    this.object = before;
  }

  /** What status tells of the DaemonSet. */
  entry(name = "agent") {
    return this.object.status?.daemonSets?.find(entry => entry.name === name);
  }

  /** What becomes of a write. */
  protected execute(intent: Intent): Outcome {
    if (this.object.spec.mode === "Observe") return { result: "Observed" };
    if (this.outcome !== undefined) return this.outcome;
    this.written.push(intent);
    const before = this.set(intent.target.name);
    const { spec } = intent.body as { spec: { template: { spec: TemplatePatch } } };
    const { template, ownedVolumes } = applyPatch(before.template, before.ownedVolumes, spec.template.spec);
    this.put(before.name, template, { ownedVolumes });
    return { result: "Executed" };
  }

  /** A pod of the DaemonSet that is Ready at once. */
  protected makePod(name: string, tokenExpirationSeconds: number): PodView {
    const createdAtMs = this.clock.now().getTime();
    return {
      namespace: "team",
      name: `${name}-${++this.#pods}`,
      uid: `uid-${name}-${this.#pods}`,
      resourceVersion: "1",
      createdAtMs,
      phase: "Running",
      ready: true,
      readySinceMs: createdAtMs,
      serviceAccountName: "agent",
      mountsToken: true,
      tokenExpirationSeconds,
      maxTokenExpirationSeconds: tokenExpirationSeconds,
      labels: {},
      skip: false,
      owner: { kind: "DaemonSet", name, uid: `uid-${name}` },
      containers: [],
    };
  }

  /** As PodLogReview: quiet unless the scene says otherwise. */
  review(_key: string, pods: readonly PodView[]): Promise<ReviewedLogs> {
    const states = new Map(pods.map(({ uid }) => [uid, this.logStates.get(uid) ?? ("quiet" as const)]));
    return Promise.resolve({ states, nextReadInMs: 30_000 });
  }

  /** As PodLogReview. */
  forget(): void {
    this.logStates.clear();
  }

  /** As Readers. */
  override pods(): Promise<readonly PodView[]> {
    return Promise.resolve(this.podList);
  }

  /** As Readers. */
  override workload(_kind: WorkloadView["kind"], _namespace: string, name: string): Promise<WorkloadView | null> {
    return Promise.resolve(this.sets.get(name) ?? null);
  }

  /** As Readers. */
  override daemonSet(_namespace: string, name: string): Promise<DaemonSetView | null> {
    return Promise.resolve(this.sets.get(name) ?? null);
  }

  /** As Readers. */
  override serviceAccount(): Promise<ServiceAccountView | null> {
    return Promise.resolve(this.isAccountThere ? this.account : null);
  }

  /** As Readers. */
  override staleTokens(): Promise<number | null> {
    return Promise.resolve(this.stale);
  }
}
