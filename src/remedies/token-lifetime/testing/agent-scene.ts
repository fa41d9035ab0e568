import type { TokenLifetimeSpec } from "../../../api/controller-resilience";
import type { Right } from "../../../core/readers";
import type { DaemonSetView, PodView, SandboxEventView } from "../../../core/views";
import type { ReviewedPod } from "../../../logs/pod-log-review";
import { createSandboxReview } from "../../../logs/sandboxes/review";
import { createTokenLifetime } from "../remedy";
import { Scene, type ScenePass } from "./scene";

/** What happens during passes. */
export interface Happening {
  /** A node on which pods cannot start, because the API server answers 401 to the network plugin. */
  readonly failing?: string;
  readonly alsoFailing?: string;
  /** Namespaces of the pods that cannot start. */
  readonly namespaces?: readonly string[];
}

const NODES = ["node-1", "node-2", "node-3"];

/** The same namespace; the DaemonSet has one pod on each of three nodes, and its controller replaces one pod per pass. */
export class AgentScene extends Scene {
  eventsError: Error | undefined;
  /** Of the list of a node's pods. */
  nodeError: Error | undefined;
  /** Rights that the operator lacks, such as `list pods`. */
  readonly lacking = new Set<string>();
  /** Pods of other namespaces. */
  otherPods: PodView[] = [];
  readonly isAgent: boolean;
  #unreadReviews = 0;
  readonly #events = new Map<string, SandboxEventView>();

  /** @param isAgent the pods are those of a CNI agent */
  constructor(spec: Partial<TokenLifetimeSpec> = {}, isAgent = true) {
    super(spec);
    this.isAgent = isAgent;
    this.place();
  }

  /** Another leader, which remembers nothing. */
  newLeader(): void {
    this.#unreadReviews = 2;
    Object.assign(this, { remedy: createTokenLifetime(this, createSandboxReview()) });
  }

  /** Puts each pod of the DaemonSet on a node of its own: a new one on the node of its predecessor. */
  place(): void {
    const own = this.podList.filter(({ owner }) => owner?.name === "agent");
    const taken = new Set(own.map(({ nodeName }) => nodeName));
    const free = NODES.filter(name => !taken.has(name));
    const flags = this.isAgent ? { hostNetwork: true, cniFolder: true } : {};
    this.podList = this.podList.map(pod => {
      if (pod.owner?.name !== "agent" || pod.nodeName !== undefined) return pod;
      return { ...pod, ...flags, nodeName: free.shift() ?? "node-4" };
    });
  }

  override replacePod(name: string): void {
    super.replacePod(name);
    this.place();
  }

  /** What the last pass of {@link run} reported. */
  last: ScenePass = { status: "Unknown", reason: "", message: "", intents: [], needsCleanup: false };

  /** Passes every ten seconds. */
  async run(count: number, { failing, alsoFailing, namespaces = ["shop", "web"] }: Happening = {}): Promise<void> {
    const nodes = [failing, alsoFailing].flatMap(node => node ?? []);
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
    const pod = { ...this.makePod("other", 3607), namespace: "shop", nodeName };
    this.otherPods.push({ ...pod, volumesReadyMs: pod.createdAtMs, ...over });
  }

  /** The DaemonSet controller replaces one pod with another template. */
  rollOne(): void {
    const { updateStrategy } = this.set();
    const next = this.podList.find(pod => pod.owner?.name === "agent" && !this.#isCurrent(pod));
    if (updateStrategy === "RollingUpdate" && next !== undefined) this.replacePod(next.name);
  }

  #isCurrent({ maxTokenExpirationSeconds }: PodView): boolean {
    const isShort = JSON.stringify(this.set().template).includes('"expirationSeconds":600');
    return isShort ? maxTokenExpirationSeconds === 600 : true;
  }

  override async daemonSet(namespace: string, name: string): Promise<DaemonSetView | null> {
    const view = await super.daemonSet(namespace, name);
    if (view === null) return null;
    const updatedPods = this.podList.filter(pod => pod.owner?.name === name && this.#isCurrent(pod)).length;
    return { ...view, updatedPods };
  }

  /** A new leader reads the logs in the course of its first passes. */
  override review(key: string, pods: readonly PodView[]): Promise<ReadonlyMap<string, ReviewedPod>> {
    if (this.#unreadReviews === 0) return super.review(key, pods);
    this.#unreadReviews--;
    return Promise.resolve(new Map());
  }

  override may({ verb, resource }: Right): Promise<boolean> {
    return Promise.resolve(!this.lacking.has(`${verb} ${resource}`));
  }

  override podsOnNode(node: string): Promise<readonly PodView[]> {
    if (this.nodeError !== undefined) return Promise.reject(this.nodeError);
    return Promise.resolve([...this.podList, ...this.otherPods].filter(({ nodeName }) => nodeName === node));
  }

  override sandboxEvents(): Promise<readonly SandboxEventView[]> {
    return this.eventsError === undefined
      ? Promise.resolve([...this.#events.values()])
      : Promise.reject(this.eventsError);
  }
}
