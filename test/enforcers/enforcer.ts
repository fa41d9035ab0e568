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

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      // The API server may be away.
      await this.pass(Date.now()).catch(() => undefined);
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
