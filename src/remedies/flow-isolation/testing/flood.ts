import type { RequestRates, RequestSpan } from "../../../core/readers";

/** Requests per second of a client at a moment. */
export type Client = (ms: number) => number;

/** A client that floods from one moment to another. */
export function flood(perSecond: number, fromMs: number, toMs: number): Client {
  return ms => (ms >= fromMs && ms < toMs ? perSecond : 0);
}

/** What would be counted of it, second by second, between readings at these moments. */
export function spansOf(client: Client, readings: readonly number[]): RequestSpan[] {
  return readings.slice(1).map((toMs, i) => {
    const fromMs = readings[i] ?? toMs;
    return { fromMs, toMs, requests: requestsOf(client, fromMs, toMs) };
  });
}

/** How many requests it makes. */
export function requestsOf(client: Client, fromMs: number, toMs: number): number {
  let requests = 0;
  for (let ms = fromMs; ms < toMs; ms += 1_000) requests += client(ms);
  return requests;
}

/** All API servers were read. */
export function ratesOf(spans: RequestRates["spans"], readMs = 0): RequestRates {
  return { spans, readMs, servers: { found: 1, read: 1 } };
}
