import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { eventually } from "../../cluster/admin";
import type { Call } from "../calls";
import { describeFault, type Fault } from "../fault";
import type { FaultProxy } from "../fault-proxy";
import type { Finding } from "../suite";
import { change, ACTIONS, prepare, remove, whileFailing } from "./churn";
import { excessOf, peakOf, RETRY_BOUND } from "./load";
import { type Memory, memoryOf } from "./memory";
import { KINDS } from "./oracle";
import { untilActedOn } from "./pictures";
import type { World } from "./world";

/** Duration of a fault; in milliseconds. */
const FAULT_MS = 15_000;

/** Time limit for the operator to act on everything: longer than the longest backoff, a full pass and the restart pace together. In milliseconds. */
const PATIENCE_MS = 180_000;

/** Time between the record of an action and the action; in milliseconds. */
const DONE_MS = 30_000;

/** The operator detects a silent connection only by a timeout: after 150 s, for Events after 220 s (src/cluster/watch). */
const SILENT_PATIENCE_MS = 420_000;

/** A fault that affects all watches and all other requests at the same time. */
export interface WatchFault {
  readonly fault: Fault;
  readonly concerns: (call: Call) => boolean;
  readonly patienceMs: number;
}

/** The loss of the Lease has its own suite. Here the leader stays the same, so that a new leader's first pass hides nothing. */
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

/** All faults; silence takes longest and comes last. */
export const WATCH_FAULTS: readonly WatchFault[] = [
  ...everywhere.map(fault => ({ fault, concerns: butTheLease, patienceMs: PATIENCE_MS })),
  { fault: { code: 409 }, concerns: writes, patienceMs: PATIENCE_MS },
  { fault: "silence", concerns: () => true, patienceMs: SILENT_PATIENCE_MS },
];

/** The faults in an order that the seed decides, with silence last. */
export function inOrder(faults: readonly WatchFault[], seed: number): readonly WatchFault[] {
  const [silent, others] = [faults.filter(isSilent), faults.filter(one => !isSilent(one))];
  const order = fc.shuffledSubarray(others, { minLength: others.length });
  return [...(fc.sample(order, { seed, numRuns: 1 })[0] ?? []), ...silent];
}

/** Whether the fault affects connections, which all scenes share. */
export function isSilent({ fault }: WatchFault): boolean {
  return fault === "silence";
}

/** No fault, which measures the cost of the changes themselves. */
export const CALM: WatchFault = { fault: "none", concerns: () => true, patienceMs: PATIENCE_MS };

/** The result of one fault. */
interface WatchReport {
  readonly finding: Finding;
  readonly memory: Memory;
  /** Number of passes, lists and watches that began during the fault. */
  readonly begun: number;
}

/**
 * Changes objects of every kind during a fault, and waits until the operator has acted on them.
 *
 * @param calm the number of passes, lists and watches that the same changes need without a fault
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
  const acting = (): Promise<string[]> => untilActedOn(scene, world.first, patienceMs);
  const missed = await (isSilent(given) ? whileFailing(scene, acting) : acting());
  const seconds = Math.round((performance.now() - endedMs) / 1000);
  const { text } = await operator.probe("/metrics");
  const actions = await untilDone(() => world.actionsIn(scene.namespace));
  await remove(scene);
  const ends = watchEnds(text) - endsBefore;
  return {
    memory: await memoryOf(operator),
    begun: begunIn(requests).length,
    finding: {
      fault: `${describeFault(fault)}, over ${KINDS.length} kinds of watches`,
      times: 1,
      promised: "no change missed, no action repeated, no storm of requests",
      seen: `all changes acted on after ${seconds} s; ${ends} watches ended; ${requests.length} requests (${begunIn(requests).length} begin a pass, a list or a watch), at most ${peakOf(requests.map(({ atMs }) => atMs))} in a second`,
      failures: [...missed, ...failuresOf(actions, begunIn(requests), calm)],
    },
  };
}

/** Runs an action during the fault; returns the requests in that time, without those of separate namespaces. */
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

/** Requests that begin a pass, a list or a watch, or that one of these sends first when it is retried. */
function begunIn(requests: FaultProxy["requests"]): number[] {
  const isFirst = ({ method, resource }: Call): boolean => method === "GET" && KINDS.some(kind => kind === resource);
  return requests.filter(({ call }) => isFirst(call)).map(({ atMs }) => atMs);
}

/** The actions so far. One that is already recorded may still be in progress. */
export function untilDone(actions: () => Record<string, number>): Promise<Record<string, number>> {
  return eventually(actions, done => isDeepStrictEqual(done, ACTIONS), DONE_MS);
}

function failuresOf(actions: Record<string, number>, begun: readonly number[], calm: number): string[] {
  const excess = excessOf(begun, { ...RETRY_BOUND, burst: RETRY_BOUND.burst + calm });
  return [
    ...(isDeepStrictEqual(actions, ACTIONS)
      ? []
      : [`done ${JSON.stringify(actions)}, and not ${JSON.stringify(ACTIONS)}`]),
    ...(excess === 0
      ? []
      : [`${excess} more passes, lists and watches than the changes need and the retry limit allows`]),
  ];
}

function watchEnds(metrics: string): number {
  const found = metrics.matchAll(/^controller_resilience_watch_ends_total\{.*\} (\d+)$/gm);
  return [...found].reduce((sum, [, ends]) => sum + Number(ends), 0);
}
