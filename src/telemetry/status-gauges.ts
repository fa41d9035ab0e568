import { Gauge, type Registry } from "prom-client";
import type { Key, StatusOwner } from "../core/ports";
import type { GaugeSample, StatusGauge } from "../core/remedy";

/** Most series of one gauge, so that no user floods Prometheus: of one object, and of all objects. */
const MAX_OF_OBJECT = 500;
const MAX_OF_ALL = 2_000;

/** The gauges that remedies declare. Objects that share a series, such as the rate of one ServiceAccount, keep it until the last is gone. */
export class StatusGauges {
  readonly #gauges: readonly Exported[];

  constructor(declared: readonly StatusGauge[], registry: Registry) {
    this.#gauges = declared.map(declaration => new Exported(declaration, registry));
  }

  /** Replaces the series of an object; null removes them. */
  set(key: Key, object: StatusOwner | null): void {
    for (const gauge of this.#gauges) gauge.set(key, object);
  }
}

class Exported {
  readonly #declaration: StatusGauge;
  readonly #gauge: Gauge;
  /** Labels of the exported series by object, by the text of the labels. */
  readonly #series = new Map<Key, ReadonlyMap<string, GaugeSample["labels"]>>();
  /** How many objects share a series. */
  readonly #holders = new Map<string, number>();
  #count = 0;

  constructor(declaration: StatusGauge, registry: Registry) {
    const { name, help, labels } = declaration;
    this.#declaration = declaration;
    this.#gauge = new Gauge({
      ...{ name: `controller_resilience_${name}`, help, labelNames: [...labels] },
      registers: [registry],
    });
  }

  set(key: Key, object: StatusOwner | null): void {
    const before = this.#series.get(key) ?? new Map<string, GaugeSample["labels"]>();
    const room = Math.min(MAX_OF_OBJECT, MAX_OF_ALL - this.#count + before.size);
    const samples = (object === null ? [] : this.#declaration.samples(key, object)).slice(0, room);
    const after = new Map(samples.map(({ labels }) => [JSON.stringify(labels), labels]));
    for (const { labels, value } of samples) this.#gauge.set(labels, value);
    for (const id of after.keys()) if (!before.has(id)) this.#holders.set(id, (this.#holders.get(id) ?? 0) + 1);
    for (const [id, labels] of before) if (!after.has(id)) this.#release(id, labels);
    if (after.size === 0) this.#series.delete(key);
    else this.#series.set(key, after);
    this.#count += after.size - before.size;
  }

  #release(id: string, labels: GaugeSample["labels"]): void {
    const left = (this.#holders.get(id) ?? 1) - 1;
    if (left > 0) this.#holders.set(id, left);
    else {
      this.#holders.delete(id);
      this.#gauge.remove({ ...labels });
    }
  }
}
