import { setTimeout as sleep } from "node:timers/promises";
import { forEach } from "../../cluster/for-each";
import type { Admin } from "../../cluster/admin";

const LOOK_MS = 300;
/** In parts, since a list of thousands of pods is larger than a client takes. */
const WAITING = "/api/v1/pods?limit=500&fieldSelector=spec.nodeName%3D";

interface Waiting {
  readonly items: readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
}

/** Assigns pods to simulated nodes in turn, since a control plane alone has no scheduler. */
export class Scheduler {
  #next = 0;
  #ended = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly admin: Admin,
    private readonly nodes: number,
  ) {}

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#ended = true;
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      // Failures are retried: a pod may be gone.
      await this.#look().catch(() => undefined);
      await sleep(LOOK_MS);
    }
  }

  async #look(): Promise<void> {
    const { items } = await this.admin.get<Waiting>(WAITING);
    await forEach(items.length, async i => {
      const { namespace, name } = items[i]!.metadata;
      const target = { apiVersion: "v1", kind: "Node", name: `kwok-${this.#next++ % this.nodes}` };
      const binding = { metadata: { name }, target };
      await this.admin.create(`/api/v1/namespaces/${namespace}/pods/${name}/binding`, binding).catch(() => undefined);
    });
  }
}
