// The allowed load of a fault on the API server, and on the operator's machine. Pure.

/** A token bucket: the allowed burst, and the refill rate. */
interface Bucket {
  readonly burst: number;
  readonly perSecond: number;
}

/** The limit of src/engine/loop/requeue.ts for retries, over all keys. Watches have no limit of their own, and must stay below this one, too. */
export const RETRY_BOUND: Bucket = { burst: 100, perSecond: 10 };

/** Number of requests over the limit at the worst moment; 0 if never exceeded. Times in milliseconds, in order. Pure. */
export function excessOf(requestsAtMs: readonly number[], { burst, perSecond }: Bucket): number {
  let [tokens, filledAtMs, worst] = [burst, requestsAtMs[0] ?? 0, 0];
  for (const atMs of requestsAtMs) {
    tokens = Math.min(burst, tokens + ((atMs - filledAtMs) / 1000) * perSecond) - 1;
    filledAtMs = atMs;
    worst = Math.max(worst, -tokens);
  }
  return Math.ceil(worst);
}

/** The largest number of requests within one second. Times in milliseconds, in order. Pure. */
export function peakOf(requestsAtMs: readonly number[]): number {
  let [first, peak] = [0, 0];
  for (const [last, atMs] of requestsAtMs.entries()) {
    while (atMs - (requestsAtMs[first] ?? atMs) >= 1_000) first++;
    peak = Math.max(peak, last - first + 1);
  }
  return peak;
}
