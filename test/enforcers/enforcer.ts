import { setTimeout as sleep } from "node:timers/promises";
import type { Binding, ClusterClient } from "../cluster/client";
import { dueMs } from "./rules";

/** The bindings that an enforcer may delete. It never reads any others. */
interface EnforcerScope {
  /** RoleBindings of these namespaces. */
  readonly namespaces: readonly string[];
  /** ClusterRoleBindings of these names. */
  readonly clusterRoleBindings?: readonly string[];
}

const INTERVAL_MS = 1_000;

/**
 * Simulates kube-janitor, Kyverno's cleanup controller, k8s-ttl-controller and an enforcer of this project's own convention: periodically
 * deletes due bindings by their published rules. Like them, it deletes by name, without a precondition.
 */
export class Enforcer {
  /** The deleted bindings, in their last state. */
  readonly deletions: Binding[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private lastPassMs = 0;
  private trouble = "no pass has ended yet";

  private constructor(
    private readonly client: ClusterClient,
    private readonly scope: EnforcerScope,
  ) {
    this.running = this.run();
  }

  /** Starts the enforcer; its first pass begins at once. */
  static start(client: ClusterClient, scope: EnforcerScope): Enforcer {
    return new Enforcer(client, scope);
  }

  /** Stops the enforcer after its current pass. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Whether it deleted the binding with this uid. */
  deleted(uid: string): boolean {
    return this.deletions.some(({ metadata }) => metadata.uid === uid);
  }

  /** Waits for the end of a pass that began after this moment: the remaining bindings were not due then. */
  async lookedAfter(momentMs: number): Promise<void> {
    const look = (): Promise<true> => {
      if (this.lastPassMs > momentMs) return Promise.resolve(true);
      return Promise.reject(new Error(this.trouble));
    };
    await this.client.until(`a pass of the enforcer after ${new Date(momentMs).toISOString()}`, look);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const beganMs = Date.now();
      try {
        await this.pass(beganMs);
        this.lastPassMs = beganMs;
        this.trouble = "its last pass began earlier";
      } catch (error) {
        this.trouble = error instanceof Error ? error.message : String(error);
      }
      // The abort may interrupt the sleep.
      await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private async pass(nowMs: number): Promise<void> {
    for (const binding of await this.client.allBindings()) {
      if (!this.inScope(binding) || dueMs(binding) >= nowMs) continue;
      const { name, namespace } = binding.metadata;
      if (await this.client.deleteBinding(binding.kind, name, namespace)) this.deletions.push(binding);
    }
  }

  private inScope({ metadata }: Binding): boolean {
    if (metadata.namespace !== undefined) return this.scope.namespaces.includes(metadata.namespace);
    return this.scope.clusterRoleBindings?.includes(metadata.name) ?? false;
  }
}
