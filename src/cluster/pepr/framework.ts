import { KubeConfig } from "@kubernetes/client-node";
import { TransientError } from "../../core/errors";
import type { Log } from "../../core/ports";
import { type BucketSize, type Clock, TokenBucket } from "../../core/time";

/**
 * Above the worst normal rate: while an API server is down, Pepr reopens each of its three watches (two of its store) every five to six
 * seconds by a list and a watch, which is 1.2 requests/s. A list takes one request per 250 objects
 * (capabilities/controller-resilience.ts), so the burst lists 14,000 objects.
 */
const PACE: BucketSize = { burst: 60, ratePerSecond: 4 };

type ApplyOptions = KubeConfig["applyToFetchOptions"];

interface Hooked {
  applyToFetchOptions: (this: KubeConfig, ...options: Parameters<ApplyOptions>) => ReturnType<ApplyOptions>;
}

/**
 * Limits the request rate of Pepr's client. That client relists and rewatches without backoff when a stream ends
 * (kubernetes-fluent-client 3.11.6, fluent/watch.js): about 40 requests/s while streams keep breaking.
 *
 * Excess requests fail instead of waiting: the client retries a failed watch after five seconds by one timer, but each ended stream
 * starts another chain of requests. After the first failure all requests fail until the bucket is full: otherwise a list of many pages
 * would never get as far as its watch. The operator's own watch sees the changes that are missed meanwhile.
 *
 * The hook is the method by which that client, and no other code in this process, gets its credentials before each request.
 *
 * @returns a function that removes the limit
 */
export function paceFramework(clock: Clock, log: Log): () => void {
  const bucket = new TokenBucket(clock, PACE);
  const prototype: Hooked = KubeConfig.prototype;
  const original = prototype.applyToFetchOptions;
  let isRefusing = false;
  prototype.applyToFetchOptions = function (options) {
    if (bucket.isFull()) isRefusing = false;
    if (!isRefusing && bucket.take()) return original.call(this, options);
    if (!isRefusing)
      log.warn(
        {},
        "Pepr exceeds its request rate because its watches keep breaking, failing its requests for some seconds",
      );
    isRefusing = true;
    return Promise.reject(new TransientError(`expected at most ${PACE.ratePerSecond} requests/s from Pepr, got more`));
  };
  return () => {
    prototype.applyToFetchOptions = original;
  };
}
