import type { TokenLifetimeSpec } from "../../../api/controller-resilience";
import type { SandboxEventView } from "../../../core/views";
import { AdmissionScene } from "./admission-scene";

/** What happens during passes. */
export interface Happening {
  /** A node on which pods cannot start, because the API server answers 401 to the network plugin. */
  readonly failing?: string;
  readonly alsoFailing?: string;
  /** Namespaces of the pods that cannot start. */
  readonly namespaces?: readonly string[];
}

/** The same namespace; the DaemonSet is a CNI agent, one pod on each node. */
export class AgentScene extends AdmissionScene {
  eventsError: Error | undefined;
  readonly #events = new Map<string, SandboxEventView>();

  constructor(spec: Partial<TokenLifetimeSpec> = {}) {
    super({ via: "Template", ...spec });
    this.place();
  }

  /** Puts each pod of the DaemonSet on a node of its own: a new one on the node of its predecessor. */
  place(): void {
    const own = this.podList.filter(({ owner }) => owner?.name === "agent");
    const taken = new Set(own.map(({ nodeName }) => nodeName));
    const free = ["node-1", "node-2", "node-3", "node-4"].filter(name => !taken.has(name));
    this.podList = this.podList.map(pod => {
      if (pod.owner?.name !== "agent" || pod.nodeName !== undefined) return pod;
      return { ...pod, hostNetwork: true, cniFolder: true, nodeName: free.shift() ?? "node-5" };
    });
  }

  override replacePod(name: string): void {
    super.replacePod(name);
    this.place();
  }

  /** Passes every ten seconds. */
  async run(count: number, { failing, alsoFailing, namespaces = ["shop", "web"] }: Happening = {}): Promise<void> {
    const failures = [failing, alsoFailing].flatMap(node =>
      namespaces.map(namespace => ({ node: node ?? "", namespace })),
    );
    for (let i = 0; i < count; i++) {
      for (const { node, namespace } of failures) this.fail(node, namespace);
      await this.pass();
      await this.clock.run(10_000);
    }
  }

  /** A pod cannot start on a node, once more. */
  fail(node: string, namespace: string): void {
    const uid = `${node}-${namespace}`;
    const count = (this.#events.get(uid)?.count ?? 0) + 1;
    const lastMs = this.clock.now().getTime();
    this.#events.set(uid, { namespace, name: uid, uid, node, lastMs, count, unauthorized: true });
  }

  override sandboxEvents(): Promise<readonly SandboxEventView[]> {
    return this.eventsError === undefined
      ? Promise.resolve([...this.#events.values()])
      : Promise.reject(this.eventsError);
  }
}
