/** Each bucket is wider than the one before by this: what is read back is at most 2 % too long. */
const STEP = Math.log(1.02);
/** Milliseconds at which the buckets begin; no answer comes faster. */
const SHORTEST_MS = 0.01;

/** How many answers took how long, in buckets that grow by 2 %, so that millions of answers need little room. */
export class Latencies {
  private readonly counts = new Map<number, number>();

  /** Answers in all. */
  count = 0;

  /** Those of `toJSON`. */
  static of(buckets: readonly (readonly [bucket: number, count: number])[]): Latencies {
    const latencies = new Latencies();
    for (const [bucket, count] of buckets) latencies.put(bucket, count);
    return latencies;
  }

  /** All that several have. */
  static sum(all: readonly Latencies[]): Latencies {
    return Latencies.of(all.flatMap(latencies => latencies.toJSON()));
  }

  /** Adds one answer. */
  add(ms: number): void {
    this.put(Math.max(0, Math.ceil(Math.log(ms / SHORTEST_MS) / STEP)), 1);
  }

  /** Milliseconds within which that share of the answers came, 0.99 for the 99th percentile; NaN without answers. */
  quantile(share: number): number {
    let left = Math.ceil(share * this.count);
    for (const [bucket, count] of this.toJSON()) {
      left -= count;
      if (left <= 0) return SHORTEST_MS * Math.exp(bucket * STEP);
    }
    return NaN;
  }

  /** What it holds, shortest first. */
  toJSON(): [bucket: number, count: number][] {
    return [...this.counts].sort(([a], [b]) => a - b);
  }

  private put(bucket: number, count: number): void {
    this.counts.set(bucket, (this.counts.get(bucket) ?? 0) + count);
    this.count += count;
  }
}
