import { UNAUTHENTICATED, type RequestRates } from "./request-rates";

/** The requests that all API servers together have answered 401. A second witness beside the logs of a pod. */
export interface Refusals {
  /** The counters cover this time without a gap, in milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

/**
 * Returns what the counters say; undefined if they can prove nothing: an API server could not be read, or several may answer at one address,
 * so that the refused requests may be at another one. Pure.
 */
export function refusalsIn({ spans, servers, unknown }: RequestRates): Refusals | undefined {
  const read = spans[UNAUTHENTICATED] ?? [];
  const [first, last] = [read[0], read.at(-1)];
  if (unknown !== undefined || servers.found < 2 || servers.read < servers.found) return undefined;
  if (first === undefined || last === undefined) return undefined;
  const count = read.reduce((sum, { requests }) => sum + requests, 0);
  return { fromMs: first.fromMs, toMs: last.toMs, count };
}
