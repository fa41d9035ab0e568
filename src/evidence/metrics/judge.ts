import { GET_GAP_MS, type PodMetricsTrack, type QueueTrack } from "../../core/pod-metrics";

// What the metrics of a process show: the four rules, for one that leads. Pure. A series that is missing is unknown, never healthy and never an accusation. Times are
// on the monotonic clock.

/** No item was finished for this long, in milliseconds, or for so many times the longest that an item has taken. */
export const STUCK_MS = 900_000;
const STUCK_TIMES = 3;

/** One item has been worked on for this long, in milliseconds, or for so many times the longest that an item has taken. */
const WORKER_MS = 1_800_000;
const WORKER_TIMES = 10;

/** A process that sent a GET every few minutes for this long, in milliseconds, uses watches. */
const WATCHED_MS = 3_600_000;

/** Nothing was answered 2xx for this long, in milliseconds. A client repeats what got a 401 within half a minute. */
const REJECTED_MS = 120_000;

/** What a rule says about a queue. */
export interface QueueFinding {
  readonly queue: string;
  readonly sinceMs: number;
  /** Items that wait; absent in a finding about workers. */
  readonly depth?: number;
}

/**
 * Returns the queues that have finished nothing for too long while items wait, or, after those and as patiently as of one worker, while all workers are
 * busy: a controller that blocks on each item may have taken all that there are.
 */
export function stuckQueues({ queues, readMs }: PodMetricsTrack): QueueFinding[] {
  const found = Array.from(queues).flatMap(([queue, one]): QueueFinding[] => {
    const { depth, waitingFromMs, fullFromMs, done } = one;
    const waitsMs = Math.max(waitingFromMs, done.stillFromMs);
    if (readMs - waitsMs >= limitMs(one, STUCK_MS, STUCK_TIMES)) return [{ queue, sinceMs: waitsMs, depth }];
    const fullMs = Math.max(fullFromMs, done.stillFromMs);
    return readMs - fullMs >= limitMs(one, WORKER_MS, WORKER_TIMES) ? [{ queue, sinceMs: fullMs }] : [];
  });
  return found.toSorted((a, b) => Number(a.depth === undefined) - Number(b.depth === undefined));
}

/** Returns the queues with a worker that has been busy with one item for too long. */
export function stuckWorkers({ queues, readMs }: PodMetricsTrack): QueueFinding[] {
  const stuck = [...queues].filter(([, one]) => one.longestMs > limitMs(one, WORKER_MS, WORKER_TIMES));
  return stuck.map(([queue, { longestMs }]) => ({ queue, sinceMs: readMs - longestMs }));
}

/** Infinite while no item was finished: nothing shows then that it ever works, or how long an item takes. */
function limitMs({ slowestMs }: QueueTrack, leastMs: number, times: number): number {
  return Math.max(leastMs, times * slowestMs);
}

/** Returns since when the process has not sent a GET, if it renews its Lease, and went no such time without one for an hour before. */
export function watchesDeadSince({ requests, readMs, isLeader }: PodMetricsTrack): number | undefined {
  if (requests === undefined || isLeader !== true) return undefined;
  const { gets, getsFromMs, putlessMs } = requests;
  const hasWatched = gets.stillFromMs - getsFromMs >= WATCHED_MS;
  const isRenewing = putlessMs <= gets.stillFromMs;
  return hasWatched && isRenewing && readMs - gets.stillFromMs >= GET_GAP_MS ? gets.stillFromMs : undefined;
}

/** Returns since when all requests of the process have been answered 401, as far as they were answered. */
export function rejectedSince({ requests, readMs }: PodMetricsTrack): number | undefined {
  // Another server, such as that of another cluster, may reject another credential.
  if (requests?.isOwnServer !== true) return undefined;
  // A log, too, must have three occasions.
  const [firstMs, , lastMs] = requests.rejectedMs;
  if (firstMs === undefined || lastMs === undefined) return undefined;
  return readMs - lastMs < REJECTED_MS && readMs - firstMs >= REJECTED_MS ? firstMs : undefined;
}

/** Returns when a queue of that kind last finished an item or counted an error: the controller works, whatever becomes of an object; -Infinity: never. */
export function workedOn(kind: string, tracks: readonly PodMetricsTrack[]): number {
  const own = tracks.flatMap(({ queues }) => [...queues]).filter(([queue]) => isOfKind(queue, kind));
  return Math.max(-Infinity, ...own.map(([, { done }]) => (done.hasChanged ? done.stillFromMs : -Infinity)));
}

/** controller-runtime names the queue after the kind. cert-manager begins the names with the plural, such as `certificates-issuing`. */
export function isOfKind(queue: string, kind: string): boolean {
  const name = kind.toLowerCase();
  return queue === name || queue === `${name}s` || queue.startsWith(`${name}s-`);
}
