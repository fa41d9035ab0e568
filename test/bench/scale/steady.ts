import type { OperatorProcess } from "../../operator/process";
import { median } from "../median";
import {
  type AuditedRequest,
  type Count,
  countByKind,
  type Intervals,
  isLease,
  isLogRead,
  isWrite,
  readIntervals,
  within,
} from "./requests";
import { Usage, type Used } from "./usage";
import { pass, type Print, waitUntil } from "./waiting";
import type { World } from "./world";

/** What the operator uses while nothing happens. */
export interface Steady extends Traffic, Used {
  /** How long the event loop was blocked at most, with time spent waiting for a processor. */
  readonly blockedMs: number;
}

/** Requests of the operator within a time. */
export interface Traffic {
  readonly seconds: number;
  readonly logReads: number;
  /** All other requests. */
  readonly others: number;
  /** Those of them that are not for the Lease. */
  readonly besidesLease: number;
  /** Writes of anything but the Lease. */
  readonly writes: readonly Count[];
  /** All requests by verb and resource. */
  readonly kinds: readonly Count[];
  /** Answers that were no success, by verb, resource and status code. */
  readonly refused: readonly Count[];
  readonly intervals: Intervals;
}

/** Without a write for this long the operator has written what it had to. */
const QUIET_MS = 10_000;
const QUIET_LIMIT_MS = 600_000;
const LOOK_MS = 2_000;

/** Waits until the operator has written nothing but its Lease for a while: it writes the Events of many objects slowly. */
export async function untilQuiet(world: World): Promise<void> {
  const startMs = Date.now();
  const look = (): Promise<true | string> => {
    const writes = within(world.requests(), Date.now() - QUIET_MS, Date.now()).filter(isWrite);
    const isOver = writes.length === 0 && Date.now() - startMs >= QUIET_MS;
    return Promise.resolve(isOver || `${writes.length} writes in the last ${QUIET_MS / 1000} s`);
  };
  const wait = { what: "the operator to have written everything", limitMs: QUIET_LIMIT_MS, everyMs: LOOK_MS, look };
  const tookMs = await waitUntil(wait, world.print);
  world.print(`no writes since ${QUIET_MS / 1000} s, after ${(tookMs / 1000).toFixed(0)} s`);
}

/** Waits until healthy logs rest: no API server has refused anyone for a while. */
export async function untilResting(operator: OperatorProcess, print: Print): Promise<void> {
  const look = async (): Promise<true | string> => {
    const { text } = await operator.probe("/metrics");
    return text.includes('log_rounds{state="quiet"} 1') || "they do not";
  };
  await waitUntil({ what: "healthy logs to rest", limitMs: QUIET_LIMIT_MS, everyMs: LOOK_MS, look }, print);
}

/** Measures an operator for some seconds. Its memory is the median of a reading per second: one grows until garbage is collected. */
export async function measureSteady(world: World, operator: OperatorProcess, seconds: number): Promise<Steady> {
  const usage = new Usage(operator.pid);
  // A reading begins the next.
  await blockedMsOf(operator);
  const fromMs = Date.now();
  const rssMiB: number[] = [];
  const timer = setInterval(() => rssMiB.push(usage.used().rssMiB), 1_000);
  await pass("measured", seconds, world.print).finally(() => clearInterval(timer));
  const toMs = Date.now();
  const used = { ...usage.used(), rssMiB: median(rssMiB) };
  if (operator.exitCode !== undefined) throw new Error(`the operator ended: ${operator.complaints().join("\n")}`);
  return { ...trafficOf(world.requests(), fromMs, toMs), ...used, blockedMs: await blockedMsOf(operator) };
}

async function blockedMsOf(operator: OperatorProcess): Promise<number> {
  const { text } = await operator.probe("/metrics");
  return 1_000 * Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]);
}

/** Counts the requests of a time. Earlier ones show how long ago a log was read before. */
export function trafficOf(requests: readonly AuditedRequest[], fromMs: number, toMs: number): Traffic {
  const measured = within(requests, fromMs, toMs);
  const others = measured.filter(request => !isLogRead(request));
  const refused = measured.filter(({ code = 200 }) => code >= 300);
  return {
    seconds: (toMs - fromMs) / 1000,
    logReads: measured.length - others.length,
    others: others.length,
    besidesLease: others.filter(request => !isLease(request)).length,
    writes: countByKind(measured.filter(isWrite)),
    kinds: countByKind(measured),
    refused: countByKind(refused.map(request => ({ ...request, verb: `${request.code ?? 0} ${request.verb}` }))),
    intervals: readIntervals(requests, fromMs, toMs),
  };
}
