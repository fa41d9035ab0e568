import type { ControllerResilience, DaemonSetStatus, TokenLifetimeSpec } from "../../../api/controller-resilience";
import type { Intent, Outcome } from "../../../core/intent";
import type { Right } from "../../../core/readers";
import type { Outcomes, Plan } from "../../../core/remedy";
import { ForbiddenError } from "../../../core/errors";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import { outcomesOf } from "../../../core/testing/remedy-contract";
import { pod as podOf } from "../../../core/testing/views";
import type { DaemonSetView, PodView, SandboxEventView, ServiceAccountView, WorkloadView } from "../../../core/views";
import { RemedyScene, type ScenePass } from "../../kit/testing/remedy-scene";
import { createTokenLifetime } from "../remedy";
import type { PodLogState, ReviewedPod } from "../review";
import type { TemplatePatch } from "../template/parts";
import { created, type Managed, ownedVolumesOf, serverSideApply, US } from "../template/testing/apply";

/** What the API server defaults. */
export const DEFAULTS: TokenLifetimeSpec = {
  expirationSeconds: 600,
  defaultToken: "Project",
};

/** A pod template without volumes, as most DaemonSets have. */
export const PLAIN = { spec: { serviceAccountName: "agent", containers: [{ name: "main", image: "agent:1" }] } };

/** That template with another image. */
export function withImage(template: object, image: string): DaemonSetView["template"] {
  const copy = structuredClone(template) as typeof PLAIN;
  for (const container of copy.spec.containers.slice(0, 1)) container.image = image;
  return copy as unknown as DaemonSetView["template"];
}

/** A pod template whose only token lives for so long, as its author has written. */
export function withToken(expirationSeconds: number, audience?: string): object {
  const serviceAccountToken = { path: "token", expirationSeconds, ...(audience !== undefined && { audience }) };
  const volumes = [{ name: "api", projected: { defaultMode: 420, sources: [{ serviceAccountToken }] } }];
  return { spec: { ...PLAIN.spec, automountServiceAccountToken: false, volumes } };
}

const NODES = ["node-1", "node-2", "node-3"];

/** The namespace `team` with the DaemonSet `agent` on three nodes, and a ControllerResilience for it. */
export class Scene extends RemedyScene {
  readonly remedy = this.newRemedy();
  readonly sets = new Map<string, DaemonSetView>();
  readonly logStates = new Map<string, PodLogState>();
  account: ServiceAccountView = { namespace: "team", name: "agent", uid: "sa", createdAtMs: 0 };
  /** False after the ServiceAccount was deleted. */
  hasAccount = true;
  object: ControllerResilience;
  readonly written: Intent[] = [];
  /** The owners of the fields of each template that the operator has changed. */
  readonly #managed = new Map<string, Managed>();
  /** The outcome of each write; if absent, the write is executed. */
  outcome: Outcome | undefined;
  /** The outcome of each eviction; if absent, it is executed. */
  evictionOutcome: Outcome | undefined;
  /** The DaemonSet whose rollout this pass has begun. */
  #begun: string | undefined;
  #pods = 0;
  /** Of the list of a node's pods. */
  nodeError: Error | undefined;
  /** Of the API server. */
  audiences: readonly string[] = [];
  /** Pods of other namespaces. */
  otherPods: PodView[] = [];
  #unreadReviews = 0;
  readonly #events = new Map<string, SandboxEventView>();
  /** The last pass of {@link run}. */
  last!: ScenePass;

  /** @param isAgent the pods are those of a CNI agent */
  constructor(
    spec: Partial<TokenLifetimeSpec> = {},
    readonly isAgent = false,
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

  /** Another leader, which remembers nothing. */
  newLeader(): void {
    this.#unreadReviews = 2;
    Object.assign(this, { remedy: this.newRemedy() });
  }

  /** A remedy that reviews the logs of this scene. */
  newRemedy(): ReturnType<typeof createTokenLifetime> {
    return createTokenLifetime((_watch, pods) => this.review(pods));
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
      updatedPods: before === undefined ? 3 : this.#updatedBy(name, before, template),
      availablePods: 3,
      template: template as DaemonSetView["template"],
      ...over,
    });
  }

  /** Pods that have what another template asks for: all new pods differ, unless only the life of the token does. */
  #updatedBy(name: string, before: DaemonSetView, template: object): number {
    const isOther = JSON.stringify(before.template) !== JSON.stringify(template);
    if (isOther && secondsIn(before.template) === secondsIn(template)) return 0;
    return this.#countCurrent(name, secondsIn(template));
  }

  #countCurrent(name: string, seconds: number): number {
    return this.podList.filter(
      ({ owner, maxTokenExpirationSeconds }) => owner?.name === name && maxTokenExpirationSeconds === seconds,
    ).length;
  }

  /** The current DaemonSet. */
  set(name = "agent"): DaemonSetView {
    const view = this.sets.get(name);
    if (view === undefined) throw new Error(`there is no DaemonSet ${name}`);
    return view;
  }

  /** What the API server shows of the DaemonSet changes. */
  edit(view: Partial<DaemonSetView>): void {
    this.sets.set("agent", { ...this.set(), ...view });
  }

  /** The template has another image. */
  setImage(image: string, more: Partial<DaemonSetView> = {}): void {
    this.edit({ template: withImage(this.set().template, image), ...more });
  }

  /** A second DaemonSet is a target as well. */
  addAnother(): this {
    this.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
    this.put("other", PLAIN);
    this.roll("other", 3607);
    return this;
  }

  /** The block asks for it in another way: one more window that is always open. */
  ask(): void {
    const { tokenLifetime = DEFAULTS } = this.object.spec;
    const always = { schedule: "0 0 * * *", duration: "168h", timeZone: "UTC" };
    this.object.spec.tokenLifetime = { ...tokenLifetime, windows: [...(tokenLifetime.windows ?? []), always] };
  }

  /** The DaemonSet controller replaces `count` pods by pods with this token lifetime. */
  roll(name: string, tokenExpirationSeconds: number, count = 3): void {
    const owned = this.podList.filter(({ owner }) => owner?.name === name);
    const others = this.podList.filter(({ owner }) => owner?.name !== name);
    const fresh = NODES.slice(0, count).map(nodeName => ({ ...this.makePod(name, tokenExpirationSeconds), nodeName }));
    this.podList = [...others, ...owned.slice(count), ...fresh];
    this.sets.set(name, { ...this.set(name), updatedPods: count });
  }

  /** Sets the log state of all pods with this token lifetime. */
  setLogs(state: PodLogState, tokenExpirationSeconds?: number): void {
    for (const pod of this.podList) {
      if (tokenExpirationSeconds === undefined || pod.tokenExpirationSeconds === tokenExpirationSeconds) {
        this.logStates.set(pod.uid, state);
      }
    }
  }

  /** The writes so far, as short lines. */
  get lines(): string[] {
    return this.written.map(({ verb, target }) => `${verb} ${target.kind}`);
  }

  /** Counts the pods with this token lifetime. */
  count(tokenExpirationSeconds: number): number {
    return this.podList.filter(pod => pod.maxTokenExpirationSeconds === tokenExpirationSeconds).length;
  }

  protected override execute = (plan: Plan): Outcomes => {
    this.#begun = undefined;
    return outcomesOf(plan, intent => this.#execute(intent));
  };

  /** Passes every ten seconds, while pods of these namespaces cannot start on some nodes, since the API server answers the network plugin 401. */
  async run(count: number, nodes: readonly string[] = [], namespaces = ["shop", "web"]): Promise<void> {
    const failures = nodes.flatMap(node => namespaces.map(namespace => ({ node, namespace })));
    for (let i = 0; i < count; i++) {
      for (const { node, namespace } of failures) this.fail(node, namespace);
      this.last = await this.pass();
      this.rollOne();
      await this.clock.run(10_000);
    }
  }

  /** Time without passes, in which only the DaemonSet controller works. */
  async gap(ms: number): Promise<void> {
    if (ms > 0) NODES.forEach(() => this.rollOne());
    await this.clock.run(ms);
  }

  /** The node of the first pod with the shorter token. */
  get trialNode(): string {
    const first = this.podList.find(({ maxTokenExpirationSeconds }) => maxTokenExpirationSeconds === 600);
    return first?.nodeName ?? "none";
  }

  /** A pod cannot start on a node, once more. */
  fail(node: string, namespace: string): void {
    const uid = `${node}-${namespace}`;
    const count = (this.#events.get(uid)?.count ?? 0) + 1;
    const storedMs = this.clock.now().getTime();
    this.#events.set(uid, { namespace, name: uid, uid, node, storedMs, count, unauthorized: true });
  }

  /** A pod of another namespace starts on a node. */
  start(nodeName: string, over: Partial<PodView> = {}): void {
    const pod = { ...this.makePod("other", 3607), namespace: "shop", nodeName, hostNetwork: false, cniFolder: false };
    this.otherPods.push({ ...pod, volumesReadyMs: pod.createdAtMs, ...over });
  }

  /** The DaemonSet controller replaces one pod with another template. */
  rollOne(): void {
    const { updateStrategy } = this.set();
    const seconds = secondsIn(this.set().template);
    const next = this.podList.find(
      ({ owner, maxTokenExpirationSeconds }) => owner?.name === "agent" && maxTokenExpirationSeconds !== seconds,
    );
    if (updateStrategy === "RollingUpdate" && next !== undefined) this.replacePod(next.name);
  }

  /** A pass whose operator crashes after its writes and before it writes status. */
  async passAndCrash(): Promise<void> {
    const before = this.object;
    await this.pass();
    this.object = before;
  }

  /** The status entry of the DaemonSet. */
  entry(name = "agent") {
    return this.object.status?.daemonSets?.find(entry => entry.name === name);
  }

  /** Executes a write. */
  #execute(intent: Intent): Outcome {
    if (this.mode !== "Enforce") return { result: "Observed" };
    if (intent.restart !== undefined) return this.#evict(intent, intent.restart.pod);
    const refusal = this.outcome ?? this.#refusalOf(intent);
    if (refusal !== undefined) return refusal;
    this.written.push(intent);
    const before = this.set(intent.target.name);
    const { spec } = intent.body as {
      spec: { updateStrategy?: { type: string }; template: { spec: TemplatePatch } };
    };
    const { template, ownedVolumes } = before;
    // Others have taken back what the operator does not own any more.
    const { owners } = (ownedVolumes.length > 0 && this.#managed.get(before.name)) || created(template);
    const managed = serverSideApply({ template, owners }, US, { spec: spec.template.spec });
    this.#managed.set(before.name, managed);
    // Without an owner the type of the update strategy is defaulted.
    const given = before.ownsUpdateStrategy === true ? "RollingUpdate" : before.updateStrategy;
    const updateStrategy = spec.updateStrategy?.type ?? given;
    this.put(before.name, managed.template, {
      ownedVolumes: ownedVolumesOf(managed),
      updateStrategy,
      ownsUpdateStrategy: spec.updateStrategy !== undefined,
    });
    return { result: "Executed" };
  }

  /** As the engine sees it: one template is rolled out at a time. */
  #refusalOf({ target: { name }, rollout }: Intent): Outcome | undefined {
    if (rollout === undefined) return undefined;
    const open = (this.object.status?.daemonSets ?? []).filter(
      entry => isOpen(entry) && !(rollout.goesOn && entry.outcome === "Trial"),
    );
    const others = [...open.map(entry => entry.name), this.#begun ?? name].filter(one => one !== name);
    if (others.length > 0) return { result: "Limited", limit: "Rollout", retryAfterMs: 10_000 };
    this.#begun = name;
    return undefined;
  }

  #evict(intent: Intent, pod: string): Outcome {
    if (this.evictionOutcome !== undefined) return this.evictionOutcome;
    this.written.push(intent);
    this.noteRestart(intent);
    this.replacePod(pod);
    return { result: "Executed" };
  }

  /** Replaces a pod, as the DaemonSet controller does. */
  replacePod(name: string): void {
    const pod = this.podList.find(one => one.name === name);
    if (pod?.owner === undefined) throw new Error(`pod not found: ${name}`);
    const set = pod.owner.name;
    this.podList = this.podList.filter(one => one !== pod);
    const seconds = secondsIn(this.set(set).template);
    const { nodeName } = pod;
    this.podList.push({ ...this.makePod(set, seconds), ...(nodeName !== undefined && { nodeName }) });
    this.sets.set(set, { ...this.set(set), updatedPods: this.#countCurrent(set, seconds) });
  }

  /** A pod of the DaemonSet that is Ready immediately. */
  makePod(name: string, tokenExpirationSeconds: number): PodView {
    const createdAtMs = this.clock.now().getTime();
    return podOf({
      ...{ name: `${name}-${++this.#pods}`, uid: `uid-${name}-${this.#pods}`, createdAtMs, readySinceMs: createdAtMs },
      ...{ serviceAccountName: "agent", labels: {}, containers: [] },
      ...{ tokenExpirationSeconds, maxTokenExpirationSeconds: tokenExpirationSeconds },
      owner: { kind: "DaemonSet", name, uid: `uid-${name}` },
      ...(this.isAgent && { hostNetwork: true, cniFolder: true }),
    });
  }

  /** What the logs say; quiet by default. A new leader reads the logs in the course of its first passes. */
  review(pods: readonly PodView[]): Promise<ReadonlyMap<string, ReviewedPod>> {
    if (this.#unreadReviews > 0) {
      this.#unreadReviews--;
      return Promise.resolve(new Map());
    }
    const readMs = this.clock.now().getTime();
    return Promise.resolve(
      new Map(pods.map(({ uid }) => [uid, { state: this.logStates.get(uid) ?? "quiet", readMs }])),
    );
  }

  override workload(_kind: WorkloadView["kind"], _namespace: string, name: string): Promise<WorkloadView | null> {
    return Promise.resolve(this.sets.get(name) ?? null);
  }

  override daemonSet(_namespace: string, name: string): Promise<DaemonSetView | null> {
    return Promise.resolve(this.sets.get(name) ?? null);
  }

  override apiAudiences(): Promise<readonly string[]> {
    return Promise.resolve(this.audiences);
  }

  /** What is Forbidden is no right. */
  override may({ resource }: Right): Promise<boolean> {
    if (resource === "pods/eviction") return Promise.resolve(this.evictionOutcome?.result !== "Forbidden");
    return Promise.resolve(!(this.nodeError instanceof ForbiddenError));
  }

  override podsOnNode(node: string): Promise<readonly PodView[]> {
    if (this.nodeError !== undefined) return Promise.reject(this.nodeError);
    return Promise.resolve([...this.podList, ...this.otherPods].filter(({ nodeName }) => nodeName === node));
  }

  override sandboxEvents(): Promise<readonly SandboxEventView[]> {
    return this.answer("sandboxEvents", [...this.#events.values()]);
  }

  override serviceAccount(): Promise<ServiceAccountView | null> {
    return Promise.resolve(this.hasAccount ? this.account : null);
  }
}

function isOpen({ outcome, waitStartTime }: DaemonSetStatus): boolean {
  return outcome === "Trial" || (outcome === "Rolling" && waitStartTime === undefined);
}

/** The longest life that a template asks for; without one that which admission asks for. */
function secondsIn(template: object): number {
  const asked = [...JSON.stringify(template).matchAll(/"expirationSeconds":(\d+)/g)];
  return asked.length === 0 ? 3607 : Math.max(...asked.map(([, seconds]) => Number(seconds)));
}

/** The trial has passed: one pod has the shorter token, and the rolling update begins, without a controller that goes on with it. */
export async function tried(scene = new Scene()): Promise<Scene> {
  for (let i = 0; i < 100 && scene.entry()?.outcome !== "Rolling"; i++) {
    await scene.pass();
    await scene.clock.run(10_000);
  }
  return scene;
}

/** All pods have the shorter token. */
export async function bounded(scene = new Scene()): Promise<Scene> {
  await tried(scene);
  scene.roll("agent", 600);
  await scene.pass();
  return scene;
}
