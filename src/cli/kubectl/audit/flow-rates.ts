import { metricLines } from "../../../cluster/measure/metric-lines";
import { parseSample } from "../../../cluster/measure/metric-sample";
import { pause } from "../../../cluster/http/pause";
import { systemClock } from "../../../cluster/system";
import { ForbiddenError, ResilienceError } from "../../../core/errors";
import type { Session } from "../session";

const REQUESTS = "apiserver_flowcontrol_dispatched_requests_total";
const START = "process_start_time_seconds";
const WANTED = new RegExp(`^(?:${REQUESTS}|${START})[ \\t{]`);

const BETWEEN_MS = 2_000;

interface Reading {
  readonly atMs: number;
  readonly startSeconds: number;
  readonly requests: ReadonlyMap<string, number>;
}

/**
 * Measures the requests per second of each FlowSchema, at the API server that answers. An error if its metrics may not be read; undefined
 * if they could not be, or if different API servers answered.
 */
export async function readFlowRates(
  session: Session,
): Promise<ReadonlyMap<string, number> | ForbiddenError | undefined> {
  try {
    const first = await readOnce(session);
    await pause(systemClock, BETWEEN_MS, session.ending);
    const second = await readOnce(session);
    return ratesBetween(first, second);
  } catch (error) {
    if (error instanceof ForbiddenError) return error;
    if (error instanceof ResilienceError) return undefined;
    throw error;
  }
}

async function readOnce({ api }: Session): Promise<Reading> {
  const requests = new Map<string, number>();
  let startSeconds = NaN;
  const atMs = systemClock.monotonicMs();
  for await (const lines of metricLines({ api, clock: systemClock })) {
    const samples = lines.flatMap(line => (WANTED.test(line) ? (parseSample(line) ?? []) : []));
    for (const { name, labels, value } of samples) {
      if (name === START) startSeconds = value;
      const flow = labels.get("flow_schema");
      if (flow !== undefined) requests.set(flow, (requests.get(flow) ?? 0) + value);
    }
  }
  return { atMs, startSeconds, requests };
}

/** Returns the increase per second; undefined for readings of two processes. Pure. */
export function ratesBetween(first: Reading, second: Reading): ReadonlyMap<string, number> | undefined {
  const seconds = (second.atMs - first.atMs) / 1000;
  if (first.startSeconds !== second.startSeconds || seconds <= 0) return undefined;
  const rate = (flow: string, count: number): [string, number] => [
    flow,
    Math.max(0, count - (first.requests.get(flow) ?? 0)) / seconds,
  ];
  return new Map([...second.requests].map(([flow, count]) => rate(flow, count)));
}
