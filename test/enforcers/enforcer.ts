import { setTimeout as sleep } from "node:timers/promises";
import type { Binding, ClusterClient } from "../cluster/client";
import { deadlinesOf, type Deadline } from "./rules";

/** What an enforcer may delete. It never looks at anything else. */
export interface EnforcerScope {
  /** RoleBindings of these namespaces. */
  readonly namespaces: readonly string[];
  /** ClusterRoleBindings of these names. */
  readonly clusterRoleBindings?: readonly string[];
}

/** A binding that was deleted, as it was then. */
export interface Deletion extends Deadline {
  readonly binding: Binding;
  /** When the API server had confirmed it. */
  readonly deletedMs: number;
}

const INTERVAL_MS = 1_000;

/**
 * Stands in for kube-janitor, Kyverno's cleanup controller, k8s-ttl-controller and an enforcer of this project's own convention: looks
 * at an interval, and deletes what is due by their published rules. As they do, it deletes by name, without a precondition.
 */
export class Enforcer {
  /** In the order in which it happened. */
  readonly deletions: Deletion[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private lastPassMs = 0;
  private trouble = "it has not looked yet";

  private constructor(
    private readonly client: ClusterClient,
    private readonly scope: EnforcerScope,
    intervalMs: number,
  ) {
    this.running = this.run(intervalMs);
  }

  /** Starts it; it looks at once. */
  static start(client: ClusterClient, scope: EnforcerScope, intervalMs = INTERVAL_MS): Enforcer {
    return new Enforcer(client, scope, intervalMs);
  }

  /** Ends it, after the pass that it is in. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Whether it deleted the binding with this uid. */
  deleted(uid: string): boolean {
    return this.deletions.some(({ binding }) => binding.metadata.uid === uid);
  }

  /** Waits until a pass that began after this moment has come to its end: what is left then was not due. */
  async lookedAfter(momentMs: number, timeoutMs = 60_000): Promise<void> {
    const look = (): Promise<true> => {
      if (this.lastPassMs > momentMs) return Promise.resolve(true);
      return Promise.reject(new Error(this.trouble));
    };
    await this.client.until(`the enforcer to look after ${new Date(momentMs).toISOString()}`, look, timeoutMs);
  }

  private async run(intervalMs: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const beganMs = Date.now();
      try {
        await this.pass(beganMs);
        this.lastPassMs = beganMs;
        this.trouble = "its passes began earlier";
      } catch (error) {
        this.trouble = error instanceof Error ? error.message : String(error);
      }
      // An end while it sleeps is an end.
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
