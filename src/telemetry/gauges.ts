import { Gauge, type GaugeConfiguration, Registry } from "prom-client";
import type { Key, StatusOwner } from "../core/ports";
import type { GaugeSample, StatusGauge } from "../core/remedy";

// Gauges with a series for each object: bounded in number, and written down in parts.

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

/** With 10,000 series (2,000 objects with 5 conditions), formatting a shard takes about 3 ms; formatting all of them took 30 to 115 ms. */
const SHARDS = 16;

interface Shard<L extends string> {
  readonly registry: Registry;
  readonly gauge: Gauge<L>;
}

/** A gauge with thousands of series that is formatted in parts: prom-client formats a metric in one piece and blocks the event loop. */
export class ShardedGauge<L extends string> {
  readonly #configuration: Omit<GaugeConfiguration<L>, "registers">;
  readonly #shards = new Map<number, Shard<L>>();

  constructor(configuration: Omit<GaugeConfiguration<L>, "registers">) {
    this.#configuration = configuration;
    this.#shard(0);
  }

  /** Returns the gauge with the series of a key. */
  of(key: string): Gauge<L> {
    let hash = 0;
    for (let i = 0; i < key.length; i++) hash = (31 * hash + key.charCodeAt(i)) | 0;
    return this.#shard((hash >>> 0) % SHARDS).gauge;
  }

  /** Yields the exposition format in parts, to be joined by line breaks. */
  async *parts(): AsyncGenerator<string> {
    const { name } = this.#configuration;
    for (const [i, { registry }] of this.#shards) {
      const [help, type, ...series] = (await registry.getSingleMetricAsString(name)).split("\n");
      if (i === 0) yield [help, type, ...series].join("\n");
      else if (series.length > 0) yield series.join("\n");
    }
  }

  #shard(i: number): Shard<L> {
    const known = this.#shards.get(i);
    if (known !== undefined) return known;
    const registry = new Registry();
    const made = { registry, gauge: new Gauge({ ...this.#configuration, registers: [registry] }) };
    this.#shards.set(i, made);
    return made;
  }
}
