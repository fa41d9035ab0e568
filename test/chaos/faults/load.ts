// What a fault may cost the API server, and the operator's machine. Pure.

/** A token bucket: what an operator may ask for at once, and how fast it may go on. */
export interface Bucket {
  readonly burst: number;
  readonly perSecond: number;
}

/** What src/engine/rate-limiter.ts allows to be tried again, over all keys. Watches have no such bound of their own, and stay below it too. */
export const RETRY_BOUND: Bucket = { burst: 100, perSecond: 10 };

/** By how many requests they exceed the bucket at the worst moment; 0 if never. Times in milliseconds, in order. Pure. */
export function excessOf(requestsAtMs: readonly number[], { burst, perSecond }: Bucket): number {
  let [tokens, filledAtMs, worst] = [burst, requestsAtMs[0] ?? 0, 0];
  for (const atMs of requestsAtMs) {
    tokens = Math.min(burst, tokens + ((atMs - filledAtMs) / 1000) * perSecond) - 1;
    filledAtMs = atMs;
    worst = Math.max(worst, -tokens);
  }
  return Math.ceil(worst);
}

/** The most requests within any second. Times in milliseconds, in order. Pure. */
export function peakOf(requestsAtMs: readonly number[]): number {
  let [first, peak] = [0, 0];
  for (const [last, atMs] of requestsAtMs.entries()) {
    while (atMs - (requestsAtMs[first] ?? atMs) >= 1_000) first++;
    peak = Math.max(peak, last - first + 1);
  }
  return peak;
}
