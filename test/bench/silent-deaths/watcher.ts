import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterClient, isReady, type Pod } from "../../cluster/client";
import { NAME } from "../zoo/stall-programs";
import { type Case, CASES, isRenewed } from "./cases";
import type { Placed } from "./tool";

/** Each look is one process. */
const LOOK_MS = 1_000;

/** What is seen of a case, by the monotonic clock. */
export interface Seen {
  readonly name: string;
  readonly namespace: string;
  readonly one: Case;
  /** Its pod before the deaths. */
  pod: string;
  diedMs?: number;
  removedMs?: number;
  worksMs?: number;
  /** Pods that were removed although they worked. */
  readonly wronged: string[];
}

interface Item {
  readonly kind: string;
  readonly metadata: Pod["metadata"] & { readonly namespace: string; readonly labels?: Record<string, string> };
  readonly spec: { readonly holderIdentity?: string };
}

type LivePod = Item & Pod;

/** Looks at the cases each second, and notes which pods are removed, and when victims work again. */
export class Watcher {
  readonly seen: readonly Seen[];
  /** When a pod was last removed; 0 before. */
  lastMs = 0;
  #known = new Map<string, string>();
  #isEnded = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: ClusterClient,
    cases: readonly Placed[],
    /** Called after each look. */
    private readonly onLook: () => void,
    private readonly print: (line: string) => void,
  ) {
    this.seen = cases.map(place => ({ ...place, one: CASES[place.name]!, pod: "", wronged: [] }));
  }

  /** From now on the pods that run now are those that may not be removed. */
  async start(): Promise<void> {
    const pods = this.#livePods(await this.#list());
    this.#known = new Map(pods.map(({ metadata }) => [metadata.name, metadata.namespace]));
    for (const one of this.seen)
      one.pod = pods.find(({ metadata }) => metadata.namespace === one.namespace)!.metadata.name;
    this.#isEnded = false;
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#isEnded = true;
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#isEnded) {
      const items = await this.#list().catch(() => undefined);
      if (items !== undefined) this.#note(items, performance.now());
      this.onLook();
      await sleep(LOOK_MS);
    }
  }

  async #list(): Promise<readonly Item[]> {
    const kinds = ["get", "pods,leases,rolebindings", "--all-namespaces"];
    return (await this.client.json<{ items: Item[] }>(kinds)).items;
  }

  #livePods(items: readonly Item[]): LivePod[] {
    const own = new Set(this.seen.map(({ namespace }) => namespace));
    return items.filter(
      (item): item is LivePod =>
        item.kind === "Pod" && own.has(item.metadata.namespace) && item.metadata.deletionTimestamp === undefined,
    );
  }

  #note(items: readonly Item[], nowMs: number): void {
    const pods = this.#livePods(items);
    const alive = new Map(pods.map(({ metadata }) => [metadata.name, metadata.namespace]));
    for (const [pod, namespace] of this.#known) if (!alive.has(pod)) this.#noteRemoval(namespace, pod, nowMs);
    this.#known = alive;
    for (const one of this.seen) {
      if (one.diedMs === undefined || one.worksMs !== undefined || !works(one, items, pods)) continue;
      one.worksMs = nowMs;
      this.print(`${one.name}: works again after ${seconds(nowMs - one.diedMs)}`);
    }
  }

  #noteRemoval(namespace: string, pod: string, nowMs: number): void {
    const one = this.seen.find(other => other.namespace === namespace)!;
    this.lastMs = nowMs;
    if (one.diedMs !== undefined && one.pod === pod && one.one.proof !== "RoleBinding") {
      one.removedMs = nowMs;
      this.print(`${one.name}: pod removed after ${seconds(nowMs - one.diedMs)}`);
      return;
    }
    one.wronged.push(pod);
    this.print(`${one.name}: FALSE: removed ${pod}`);
  }
}

function works({ one, namespace, pod }: Seen, items: readonly Item[], pods: readonly LivePod[]): boolean {
  const own = (kind: string): Item | undefined =>
    items.find(item => item.kind === kind && item.metadata.namespace === namespace && item.metadata.name === NAME);
  if (one.proof === "RoleBinding") return isRenewed(own("RoleBinding")?.metadata);
  const next = pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name !== pod);
  if (one.proof === "Lease") return next !== undefined && holds(own("Lease"), next.metadata.name);
  return next !== undefined && isReady(next);
}

function holds(lease: Item | undefined, pod: string): boolean {
  return lease?.spec.holderIdentity?.startsWith(pod) === true;
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
