import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { eventually } from "../../cluster/admin";
import type { Call } from "../calls";
import { describeFault, type Fault } from "../fault";
import type { FaultProxy } from "../fault-proxy";
import type { Finding } from "../suite";
import { change, DEEDS, prepare, remove } from "./churn";
import { excessOf, peakOf, RETRY_BOUND } from "./load";
import { type Memory, memoryOf } from "./memory";
import { KINDS } from "./oracle";
import { untilActedOn } from "./pictures";
import type { World } from "./world";

/** How long a fault lasts; in milliseconds. */
const FAULT_MS = 15_000;

/** Until the operator has acted on everything; longer than the longest backoff, a full pass and the pace of restarts together. In milliseconds. */
const PATIENCE_MS = 180_000;

/** From what is written down to what is done; in milliseconds. */
const DONE_MS = 30_000;

/** Nobody tells the operator that a connection is silent: it finds that out after 150 s, of Events after 220 s (src/cluster/watch.ts). */
const SILENT_PATIENCE_MS = 420_000;

/** A fault that all watches meet at once, and with them whatever else is asked. */
export interface WatchFault {
  readonly fault: Fault;
  readonly concerns: (call: Call) => boolean;
  readonly patienceMs: number;
}

/** How the Lease is lost has tests of its own; here the leader stays the same, so that nothing is hidden by a new term. */
const butTheLease = ({ resource }: Call): boolean => resource !== "leases";
const writes = ({ kind }: Call): boolean => kind === "write" || kind === "event";

const everywhere: readonly Fault[] = [
  "close",
  "truncate",
  "cut",
  "delay",
  "gone-event",
  { code: 401 },
  { code: 403 },
  { code: 410 },
  { code: 429 },
  { code: 429, retryAfter: "2" },
  { code: 500 },
  { code: 503 },
];

/** All of them; silence, which takes longest, last. */
export const WATCH_FAULTS: readonly WatchFault[] = [
  ...everywhere.map(fault => ({ fault, concerns: butTheLease, patienceMs: PATIENCE_MS })),
  { fault: { code: 409 }, concerns: writes, patienceMs: PATIENCE_MS },
  { fault: "silence", concerns: () => true, patienceMs: SILENT_PATIENCE_MS },
];

/** In an order that the seed decides, but for silence. */
export function inOrder(faults: readonly WatchFault[], seed: number): readonly WatchFault[] {
  const [silent, others] = [faults.filter(isSilent), faults.filter(one => !isSilent(one))];
  const order = fc.shuffledSubarray(others, { minLength: others.length });
  return [...(fc.sample(order, { seed, numRuns: 1 })[0] ?? []), ...silent];
}

/** Whether it is about connections, which everything shares. */
export function isSilent({ fault }: WatchFault): boolean {
  return fault === "silence";
}

/** Nothing happens: what the changes themselves cost. */
export const CALM: WatchFault = { fault: "none", concerns: () => true, patienceMs: PATIENCE_MS };

/** The result of one fault. */
export interface WatchReport {
  readonly finding: Finding;
  readonly memory: Memory;
  /** How many passes, lists and watches were begun while it lasted. */
  readonly begun: number;
}

/**
 * Changes objects of every kind during a fault, and waits until the operator has acted on them.
 *
 * @param calm how many passes, lists and watches the same changes take without a fault
 */
export async function playWatchFault(world: World, given: WatchFault, calm: number): Promise<WatchReport> {
  const { fault, patienceMs } = given;
  const { operator } = world.first;
  const scene = await world.scene(
    describeFault(fault)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-"),
  );
  await prepare(scene);
  const unseen = await untilActedOn(scene, world.first, PATIENCE_MS);
  if (unseen.length > 0) throw new Error(`before ${describeFault(fault)}: ${unseen.join("; ")}`);
  const endsBefore = watchEnds((await operator.probe("/metrics")).text);
  const requests = await during(world, given, () => change(scene));
  const endedMs = performance.now();
  const missed = await untilActedOn(scene, world.first, patienceMs);
  const seconds = Math.round((performance.now() - endedMs) / 1000);
  const { text } = await operator.probe("/metrics");
  const deeds = await untilDone(() => world.deedsIn(scene.namespace));
  await remove(scene);
  const ends = watchEnds(text) - endsBefore;
  return {
    memory: await memoryOf(operator),
    begun: begunIn(requests).length,
    finding: {
      fault: `${describeFault(fault)}, over ${KINDS.length} kinds of watches`,
      times: 1,
      promised: "nothing missed, nothing done twice, no storm of requests",
      seen: `all acted on after ${seconds} s; ${ends} watches ended; ${requests.length} requests (${begunIn(requests).length} begin a pass, a list or a watch), at most ${peakOf(requests.map(({ atMs }) => atMs))} in a second`,
      failures: [...missed, ...failuresOf(deeds, begunIn(requests), calm)],
    },
  };
}

/** Does something while the fault lasts; returns the requests that came meanwhile, but for those of namespaces that are apart. */
async function during(world: World, given: WatchFault, work: () => Promise<void>): Promise<FaultProxy["requests"]> {
  const { apart, first } = world;
  const isConcerned = (call: Call): boolean => !apart.has(call.namespace);
  const from = first.proxy.requests.length;
  const untilMs = performance.now() + FAULT_MS;
  first.proxy.begin(given.fault, call => isConcerned(call) && given.concerns(call));
  try {
    await work();
    await sleep(Math.max(0, untilMs - performance.now()));
  } finally {
    first.proxy.end();
  }
  return first.proxy.requests.slice(from).filter(({ call }) => isConcerned(call));
}

/** Those that a pass, a list or a watch begins with, or that one of these asks first when it is tried again. */
function begunIn(requests: FaultProxy["requests"]): number[] {
  const isFirst = ({ method, resource }: Call): boolean => method === "GET" && KINDS.some(kind => kind === resource);
  return requests.filter(({ call }) => isFirst(call)).map(({ atMs }) => atMs);
}

/** What was written down first may still be under way. */
export function untilDone(deeds: () => Record<string, number>): Promise<Record<string, number>> {
  return eventually(deeds, done => isDeepStrictEqual(done, DEEDS), DONE_MS);
}

function failuresOf(deeds: Record<string, number>, begun: readonly number[], calm: number): string[] {
  const excess = excessOf(begun, { ...RETRY_BOUND, burst: RETRY_BOUND.burst + calm });
  return [
    ...(isDeepStrictEqual(deeds, DEEDS) ? [] : [`done ${JSON.stringify(deeds)}, and not ${JSON.stringify(DEEDS)}`]),
    ...(excess === 0 ? [] : [`begun ${excess} times more than the changes take and the bound of retries allows`]),
  ];
}

function watchEnds(metrics: string): number {
  const found = metrics.matchAll(/^controller_resilience_watch_ends_total\{.*\} (\d+)$/gm);
  return [...found].reduce((sum, [, ends]) => sum + Number(ends), 0);
}
