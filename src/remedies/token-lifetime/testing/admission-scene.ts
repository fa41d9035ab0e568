import type { RestartStatus, TokenLifetimeSpec } from "../../../api/controller-resilience";
import { ForbiddenError } from "../../../core/errors";
import type { Intent, Outcome } from "../../../core/intent";
import { checkRestartBudget } from "../../../core/restarts";
import { executedRestart } from "../../../core/testing/restarts";
import type { ClusterKind, ClusterObjectView } from "../../../core/views";
import { ADMISSION_API } from "../admission/policy";
import { Scene, type ScenePass } from "./scene";

/** The same namespace on a cluster with MutatingAdmissionPolicy, which shortens the tokens of new pods. */
export class AdmissionScene extends Scene {
  /** By kind and name. */
  readonly clusterViews = new Map<string, ClusterObjectView>();
  /** The API server serves the kinds. */
  isServed = true;
  /** The operator is not allowed to list the kinds. */
  isForbidden = false;
  /** The admission plugin MutatingAdmissionPolicy is on. */
  isPluginOn = true;
  /** The outcome of evictions; if absent, they are executed. */
  evictionOutcome: Outcome | undefined;
  #versions = 0;
  #requested: RestartStatus[] = [];

  constructor(spec: Partial<TokenLifetimeSpec> = {}) {
    super({ via: "Admission", ...spec });
  }

  /** One pass; adds its restarts to status, as the engine does. */
  override async pass(): Promise<ScenePass> {
    this.#requested = [];
    const result = await super.pass();
    const restarts = [...(this.object.status?.restarts ?? []), ...this.#requested];
    this.object = { ...this.object, status: { ...this.object.status, restarts } };
    return result;
  }

  /** Several passes with a pause between them. */
  async passes(count: number, everyMs = 10_000): Promise<ScenePass> {
    for (let i = 1; i < count; i++) {
      await this.pass();
      await this.clock.run(everyMs);
    }
    return this.pass();
  }

  /** The writes so far, as short lines. */
  get lines(): string[] {
    return this.written.map(({ verb, target }) => `${verb} ${target.kind}`);
  }

  /** Names of the policies. */
  get policies(): string[] {
    return [...this.clusterViews.values()]
      .filter(({ kind }) => kind === "MutatingAdmissionPolicy")
      .map(({ name }) => name);
  }

  /** Another manager writes an object. */
  putClusterObject(kind: ClusterKind, name: string, over: Partial<ClusterObjectView>): void {
    const before = this.clusterViews.get(`${kind}/${name}`);
    const version = `${++this.#versions}`;
    const fresh = { apiVersion: ADMISSION_API, kind, name, labels: {}, annotations: {}, spec: {}, conditions: [] };
    const identity = { uid: `uid-${version}`, createdAtMs: this.clock.now().getTime() };
    this.clusterViews.set(`${kind}/${name}`, {
      ...(before ?? { ...fresh, ...identity }),
      ...over,
      resourceVersion: version,
    });
  }

  /** Counts the pods with this token lifetime. */
  count(tokenExpirationSeconds: number): number {
    return this.podList.filter(pod => pod.maxTokenExpirationSeconds === tokenExpirationSeconds).length;
  }

  /** Replaces a pod, as the DaemonSet controller and admission do. */
  replacePod(name: string): void {
    const pod = this.podList.find(one => one.name === name);
    if (pod?.owner === undefined) throw new Error(`pod not found: ${name}`);
    const set = pod.owner.name;
    this.podList = [...this.podList.filter(one => one !== pod), this.makePod(set, this.secondsOf(set))];
  }

  /** The token lifetime of a new pod. */
  protected secondsOf(set: string): number {
    const bounds = this.policies.map(name => {
      const view = this.clusterViews.get(`MutatingAdmissionPolicy/${name}`);
      return Number(/value: (\d+)/.exec(JSON.stringify(view?.spec))?.[1] ?? Infinity);
    });
    return this.isPluginOn && this.sets.has(set) ? Math.min(3607, ...bounds) : 3607;
  }

  /** Executes a write, as the engine and the API server do. */
  protected override execute(intent: Intent): Outcome {
    if (intent.target.kind === "DaemonSet" || this.mode !== "Enforce") return super.execute(intent);
    if (intent.restart !== undefined) return this.#evict(intent, intent.restart);
    if (this.outcome !== undefined) return this.outcome;
    this.written.push(intent);
    const { kind, name } = intent.target as { kind: ClusterKind; name: string };
    if (intent.verb === "delete") this.clusterViews.delete(`${kind}/${name}`);
    else {
      const { metadata, spec } = intent.body as { metadata: object; spec: ClusterObjectView["spec"] };
      this.putClusterObject(kind, name, { ...metadata, spec, writtenAtMs: this.clock.now().getTime() });
    }
    return { result: "Executed" };
  }

  #evict(intent: Intent, claim: NonNullable<Intent["restart"]>): Outcome {
    const now = this.clock.now();
    const budget = checkRestartBudget(this.restarts, claim, now);
    if (!budget.allowed) return { result: "Limited", limit: budget.limit, retryAfterMs: budget.retryAfterMs };
    if (this.evictionOutcome !== undefined) return this.evictionOutcome;
    this.written.push(intent);
    this.#requested.push(executedRestart(claim, now));
    this.replacePod(claim.pod);
    return { result: "Executed" };
  }

  override clusterObjects(
    kind: ClusterKind,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<readonly ClusterObjectView[] | null> {
    if (this.isForbidden) return Promise.reject(new ForbiddenError(`not allowed to list ${kind}`));
    if (!this.isServed) return Promise.resolve(null);
    const matches = (view: ClusterObjectView): boolean =>
      view.kind === kind && Object.entries(labels).every(([key, value]) => view.labels[key] === value);
    return Promise.resolve([...this.clusterViews.values()].filter(matches));
  }
}
