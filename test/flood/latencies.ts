/** Each bucket is wider than the previous one by this factor, so results are at most 2 % too high. */
const STEP = Math.log(1.02);
/** Lower bound of the first bucket, in milliseconds; no answer is faster. */
const SHORTEST_MS = 0.01;

/** A histogram of latencies in buckets that grow by 2 %, so that millions of answers need little memory. */
export class Latencies {
  private readonly counts = new Map<number, number>();

  /** Number of answers. */
  count = 0;

  /** Parses the output of `toJSON`. */
  static of(buckets: readonly (readonly [bucket: number, count: number])[]): Latencies {
    const latencies = new Latencies();
    for (const [bucket, count] of buckets) latencies.put(bucket, count);
    return latencies;
  }

  /** Merges several histograms. */
  static sum(all: readonly Latencies[]): Latencies {
    return Latencies.of(all.flatMap(latencies => latencies.toJSON()));
  }

  /** Adds one answer. */
  add(ms: number): void {
    this.put(Math.max(0, Math.ceil(Math.log(ms / SHORTEST_MS) / STEP)), 1);
  }

  /** The latency of this quantile in milliseconds, such as 0.99 for the 99th percentile; NaN without answers. */
  quantile(share: number): number {
    let left = Math.ceil(share * this.count);
    for (const [bucket, count] of this.toJSON()) {
      left -= count;
      if (left <= 0) return SHORTEST_MS * Math.exp(bucket * STEP);
    }
    return NaN;
  }

  /** The buckets, shortest first. */
  toJSON(): [bucket: number, count: number][] {
    return [...this.counts].sort(([a], [b]) => a - b);
  }

  private put(bucket: number, count: number): void {
    this.counts.set(bucket, (this.counts.get(bucket) ?? 0) + count);
    this.count += count;
  }
}
