import { setTimeout as sleep } from "node:timers/promises";
import type { Binding, ClusterClient } from "../cluster/client";
import { deadlinesOf, type Deadline } from "./rules";

/** The bindings that an enforcer may delete. It never reads any others. */
interface EnforcerScope {
  /** RoleBindings of these namespaces. */
  readonly namespaces: readonly string[];
  /** ClusterRoleBindings of these names. */
  readonly clusterRoleBindings?: readonly string[];
}

/** A deleted binding, in its last state. */
export interface Deletion extends Deadline {
  readonly binding: Binding;
  /** When the API server confirmed the deletion. */
  readonly deletedMs: number;
}

const INTERVAL_MS = 1_000;

/**
 * Simulates kube-janitor, Kyverno's cleanup controller, k8s-ttl-controller and an enforcer of this project's own convention: periodically
 * deletes due bindings by their published rules. Like them, it deletes by name, without a precondition.
 */
export class Enforcer {
  /** In order of deletion. */
  readonly deletions: Deletion[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private lastPassMs = 0;
  private trouble = "no pass has ended yet";

  private constructor(
    private readonly client: ClusterClient,
    private readonly scope: EnforcerScope,
    intervalMs: number,
  ) {
    this.running = this.run(intervalMs);
  }

  /** Starts the enforcer; its first pass begins at once. */
  static start(client: ClusterClient, scope: EnforcerScope, intervalMs = INTERVAL_MS): Enforcer {
    return new Enforcer(client, scope, intervalMs);
  }

  /** Stops the enforcer after its current pass. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Whether it deleted the binding with this uid. */
  deleted(uid: string): boolean {
    return this.deletions.some(({ binding }) => binding.metadata.uid === uid);
  }

  /** Waits for the end of a pass that began after this moment: the remaining bindings were not due then. */
  async lookedAfter(momentMs: number): Promise<void> {
    const look = (): Promise<true> => {
      if (this.lastPassMs > momentMs) return Promise.resolve(true);
      return Promise.reject(new Error(this.trouble));
    };
    await this.client.until(`a pass of the enforcer after ${new Date(momentMs).toISOString()}`, look);
  }

  private async run(intervalMs: number): Promise<void> {
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
      await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  private async pass(nowMs: number): Promise<void> {
    for (const binding of await this.client.allBindings()) {
      const [first] = this.inScope(binding) ? deadlinesOf(binding) : [];
      if (first === undefined || first.dueMs >= nowMs) continue;
      const { name, namespace } = binding.metadata;
      const deleted = await this.client.deleteBinding(binding.kind, name, namespace);
      if (deleted) this.deletions.push({ ...first, binding, deletedMs: Date.now() });
    }
  }

  private inScope({ metadata }: Binding): boolean {
    if (metadata.namespace !== undefined) return this.scope.namespaces.includes(metadata.namespace);
    return this.scope.clusterRoleBindings?.includes(metadata.name) ?? false;
  }
}
