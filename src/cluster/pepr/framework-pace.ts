import { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../core/clock";
import { TransientError } from "../../core/errors";
import type { Log } from "../../core/ports";
import { type BucketSize, TokenBucket } from "../../core/token-bucket";

/**
 * More than what it asks for at its worst without a storm: it has three watches (two of its store), each of which is opened again every five to
 * six seconds while an API server is away, by a list and a watch; that is 1.2 requests a second. A list has a request for each 250 objects
 * (capabilities/controller-resilience.ts), so those of 14,000 are had at once.
 */
const PACE: BucketSize = { burst: 60, ratePerSecond: 4 };

type Ask = KubeConfig["applyToFetchOptions"];

/** The part of client-node that is used before each request. */
interface Asking {
  applyToFetchOptions: (this: KubeConfig, ...options: Parameters<Ask>) => ReturnType<Ask>;
}

/**
 * Bounds how often Pepr's client may ask the API server. It lists and watches again at once whenever a stream ends, without a
 * backoff (kubernetes-fluent-client 3.11.6, fluent/watch.js): where streams keep breaking that is some 40 requests a second.
 *
 * It is refused instead of made to wait: a watch that can't be opened is tried again after five seconds, by one timer, while each
 * stream that ends begins a chain of requests of its own. Once one was refused all are, until as many can come at once as before: a list
 * that is let through page by page, as fast as it is tried again, would never come to its end, and to its watch. What is missed meanwhile
 * the timed full pass finds.
 *
 * The seam is the method by which that client, and nothing else in this process, asks client-node for credentials before each request.
 *
 * @returns what undoes it
 */
export function paceFramework(clock: Clock, log: Log): () => void {
  const bucket = new TokenBucket(clock, PACE);
  const prototype: Asking = KubeConfig.prototype;
  const original = prototype.applyToFetchOptions;
  let isRefusing = false;
  prototype.applyToFetchOptions = function (options) {
    if (bucket.isFull()) isRefusing = false;
    if (!isRefusing && bucket.take()) return original.call(this, options);
    if (!isRefusing)
      log.warn(
        {},
        "Pepr asks the API server too often, since its watches keep breaking: its requests are refused for some seconds",
      );
    isRefusing = true;
    return Promise.reject(new TransientError("too many requests by Pepr"));
  };
  return () => {
    prototype.applyToFetchOptions = original;
  };
}
