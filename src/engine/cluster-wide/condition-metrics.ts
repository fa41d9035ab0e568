import type { EngineMetrics } from "../../core/ports";
import type { ConditionUpdate } from "../../core/conditions";

/** The metrics of the conditions of ClusterControllerResiliences. */
export class ConditionMetrics {
  readonly #metrics: Pick<EngineMetrics, "condition">;
  /** Types of the exported conditions by name of the object. */
  readonly #exported = new Map<string, ReadonlySet<string>>();

  constructor(metrics: Pick<EngineMetrics, "condition">) {
    this.#metrics = metrics;
  }

  /** Replaces the conditions of an object. */
  set(name: string, conditions: readonly Pick<ConditionUpdate, "type" | "status" | "reason">[]): void {
    for (const condition of conditions) this.#metrics.condition(`/${name}`, condition.type, condition);
    const types = new Set(conditions.map(({ type }) => type));
    for (const type of this.#exported.get(name) ?? []) {
      if (!types.has(type)) this.#metrics.condition(`/${name}`, type, null);
    }
    if (types.size === 0) this.#exported.delete(name);
    else this.#exported.set(name, types);
  }

  /** Removes the conditions of all objects. */
  clear(): void {
    for (const name of [...this.#exported.keys()]) this.set(name, []);
  }
}
