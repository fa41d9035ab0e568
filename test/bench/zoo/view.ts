import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience, StatusCondition } from "../../../src/api/controller-resilience";
import { type ClusterClient, isReady, type Pod } from "../../cluster/client";
import { NAMESPACE } from "./programs";

/** Each reading is one process, however many programs are looked at. */
const EVERY_MS = 1_000;

interface Listed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

interface Reading {
  readonly pods: readonly (Pod & Listed)[];
  /** Names of the Leases. */
  readonly leases: ReadonlySet<string>;
  readonly conditions: ReadonlyMap<string, StatusCondition>;
}

interface Expected {
  readonly count: number;
  readonly hasLease: boolean;
}

/** What the cluster shows of all programs, read once a second while a program looks. */
export class View {
  readonly #client: ClusterClient;
  #reading: Promise<Reading | undefined> | undefined;

  constructor(client: ClusterClient) {
    this.#client = client;
  }

  /** Waits until a program has so many Ready pods and no others, and its Lease if it uses one. */
  async untilReady(name: string, { count, hasLease }: Expected, limitMs: number): Promise<void> {
    const seen = await this.until(limitMs, ({ pods, leases }) => {
      const own = pods.filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/name"] === name);
      if (hasLease && !leases.has(name)) return undefined;
      return own.length === count && own.every(isReady) ? true : undefined;
    });
    if (seen === undefined) throw new Error(`${name} was not ready after ${limitMs / 1_000} s`);
  }

  /** Returns the first condition of a program that is sought, and undefined after the time limit. */
  async condition(
    name: string,
    isSought: (condition: StatusCondition) => boolean,
    limitMs: number,
  ): Promise<StatusCondition | undefined> {
    return this.until(limitMs, ({ conditions }) => {
      const condition = conditions.get(name);
      return condition !== undefined && isSought(condition) ? condition : undefined;
    });
  }

  private async until<T>(limitMs: number, look: (reading: Reading) => T | undefined): Promise<T | undefined> {
    const deadlineMs = performance.now() + limitMs;
    while (performance.now() < deadlineMs) {
      this.#reading ??= this.#read();
      const reading = await this.#reading;
      const seen = reading && look(reading);
      if (seen !== undefined) return seen;
    }
    return undefined;
  }

  /** Undefined while the API server is away. */
  async #read(): Promise<Reading | undefined> {
    await sleep(EVERY_MS);
    try {
      const { items } = await this.#client.json<{ items: readonly Listed[] }>([
        "get",
        "pods,leases,cres",
        "-n",
        NAMESPACE,
      ]);
      const of = <T>(kind: string) => items.filter(item => item.kind === kind) as (T & Listed)[];
      const conditions = of<ControllerResilience>("ControllerResilience").flatMap(stallsOf);
      const leases = new Set(of("Lease").map(({ metadata }) => metadata.name));
      return { pods: of<Pod>("Pod"), leases, conditions: new Map(conditions) };
    } catch {
      return undefined;
    } finally {
      this.#reading = undefined;
    }
  }
}

function stallsOf({ metadata, status }: ControllerResilience): [string, StatusCondition][] {
  const conditions = status?.conditions?.filter(({ type }) => type === "ControllersActive") ?? [];
  return conditions.map(condition => [metadata.name, condition]);
}
