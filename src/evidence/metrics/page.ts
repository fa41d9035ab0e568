import {
  type Counter,
  GET_GAP_MS,
  parseSample,
  type PodMetricsTrack,
  type QueueTrack,
  READINGS_APART_MS,
  type RequestCount,
  type RequestTrack,
  type Sample,
} from "../../core/pod-metrics";

// From the lines of a page to what it says, and from page to page of the same process. Pure.

/** Most queues of a page that are kept: a large manager has dozens. */
const MAX_QUEUES = 256;

/** A name that may appear in status and messages. A queue with another name is left out. */
const QUEUE_NAME = /^[A-Za-z0-9_.-]{1,63}$/;

/** The names of the API server for pods. */
const OWN_NAME = /^kubernetes\.default(?:\.svc(?:\.[a-z0-9.-]+)?)?(?::443)?$/;

/** A process without it cannot be told from its successor. */
export const START = "process_start_time_seconds";

const LEADER = "leader_election_master_status";
const REQUESTS = "rest_client_requests_total";

/**
 * What is known of a queue: items that wait by their priority; how long its items take; busy workers, and all of them; and what counts that it, or the
 * controller of its name, has worked. Of client-go, controller-runtime and cert-manager.
 */
const OF_QUEUES: Readonly<Record<string, keyof QueuePage>> = {
  workqueue_depth: "depth",
  workqueue_longest_running_processor_seconds: "longest",
  workqueue_work_duration_seconds_bucket: "buckets",
  workqueue_work_duration_seconds_count: "done",
  controller_runtime_active_workers: "busy",
  controller_runtime_max_concurrent_reconciles: "workers",
  controller_runtime_reconcile_errors_total: "done",
  certmanager_controller_sync_call_count: "done",
  certmanager_controller_sync_error_count: "done",
};

/** A page has hundreds of lines, and may have hundreds of thousands, of other metrics. */
const WANTED = new RegExp(`^(?:${[START, LEADER, REQUESTS, ...Object.keys(OF_QUEUES)].join("|")})[ {]`);

/** What a page says of a queue; 0 for what it does not say. */
interface QueuePage extends Record<"depth" | "done" | "longest" | "busy" | "workers", number> {
  /** Items by the upper bound of their duration in seconds, those of lower bounds included. */
  readonly buckets: Map<number, number>;
}

/** What a page says of requests. */
type RequestsPage = Record<RequestCount, number> & { isOwnServer: boolean };

/** What is counted, by the method of a request and the code of its answer. */
const COUNTED: Readonly<Record<RequestCount, RegExp>> = {
  gets: /^GET /,
  puts: /^PUT /,
  accepted: / 2\d\d$/,
  unauthorized: / 401$/,
  refused: / (401|403|422)$/,
};
const COUNTS = Object.keys(COUNTED) as RequestCount[];

/** The wanted part of one page. */
export class MetricsPage {
  readonly queues = new Map<string, QueuePage>();
  requests: RequestsPage | undefined;
  /** No number: its process cannot be told from another. */
  startSeconds = NaN;
  isLeader: boolean | undefined;
  readonly #ownHost: string | undefined;

  /** @param ownHost host and port at which the operator itself reaches the API server, as in a URL; absent: unknown */
  constructor(ownHost?: string) {
    this.#ownHost = ownHost;
  }

  /** Takes a line of any metric. Returns false for a wanted one that is no sample: without it a count would seem to fall, and to rise later. */
  take(line: string): boolean {
    if (!WANTED.test(line)) return true;
    const sample = parseSample(line);
    if (sample === null) return false;
    const { name, value } = sample;
    if (name === START) this.startSeconds = value;
    else if (name === LEADER) this.isLeader = this.isLeader === true || value === 1;
    else if (name === REQUESTS) this.#request(sample);
    else this.#queue(sample);
    return true;
  }

  #request({ labels, value }: Sample): void {
    const request = `${labels.get("method") ?? labels.get("verb") ?? ""} ${labels.get("code") ?? ""}`;
    const host = labels.get("host");
    const all = (this.requests ??= { ...NO_REQUESTS });
    for (const name of COUNTS) if (COUNTED[name].test(request)) all[name] += value;
    all.isOwnServer &&= host !== undefined && (host === this.#ownHost || OWN_NAME.test(host));
  }

  #queue({ name: metric, labels, value }: Sample): void {
    const queue = this.#queueOf(labels.get("name") ?? labels.get("controller") ?? "");
    const field = OF_QUEUES[metric];
    if (queue === undefined || field === undefined) return;
    if (field === "buckets") {
      const bound = labels.get("le") === "+Inf" ? Infinity : Number(labels.get("le"));
      queue.buckets.set(bound, (queue.buckets.get(bound) ?? 0) + value);
    } else if (field === "longest") queue.longest = Math.max(queue.longest, value);
    else queue[field] += value;
  }

  #queueOf(name: string): QueuePage | undefined {
    const known = this.queues.get(name);
    if (known !== undefined || !QUEUE_NAME.test(name) || this.queues.size >= MAX_QUEUES) return known;
    const queue = { depth: 0, done: 0, longest: 0, busy: 0, workers: 0, buckets: new Map<number, number>() };
    this.queues.set(name, queue);
    return queue;
  }
}

const NO_REQUESTS: RequestsPage = { gets: 0, puts: 0, accepted: 0, unauthorized: 0, refused: 0, isOwnServer: true };

/** Infinite if no item was finished. */
function slowestIn(buckets: QueuePage["buckets"]): number {
  const all = buckets.get(Infinity) ?? 0;
  if (!(all > 0)) return Infinity;
  return Math.min(...[...buckets].filter(([, items]) => items === all).map(([seconds]) => seconds));
}

/**
 * Returns what is known of a process after one more page. It begins anew with another process, and after a time without a page.
 *
 * @param nowMs on the monotonic clock
 */
export function followPage(before: PodMetricsTrack | undefined, page: MetricsPage, nowMs: number): PodMetricsTrack {
  const { startSeconds, isLeader, queues, requests } = page;
  const isSame = before?.startSeconds === startSeconds && before.isLeader === isLeader;
  const known = isSame && nowMs - before.readMs <= READINGS_APART_MS ? before : undefined;
  return {
    ...{ startSeconds, isLeader, fromMs: known?.fromMs ?? nowMs, readMs: nowMs },
    queues: new Map(Array.from(queues, ([name, queue]) => [name, followQueue(known?.queues.get(name), queue, nowMs)])),
    requests: requests && followRequests(known?.requests, requests, nowMs),
  };
}

/** What is no number never equals what it was before. */
function followCount(before: Counter | undefined, count: number, nowMs: number): Counter {
  return before?.count === count ? before : { count, stillFromMs: nowMs, hasChanged: before !== undefined };
}

/** @returns since when something is so at every reading; Infinity: it is not */
function followState(beforeMs: number | undefined, is: boolean, nowMs: number): number {
  return is ? Math.min(beforeMs ?? nowMs, nowMs) : Infinity;
}

function followQueue(before: QueueTrack | undefined, queue: QueuePage, nowMs: number): QueueTrack {
  const { depth, done, longest, busy, workers, buckets } = queue;
  const isWaiting = depth > 0 && depth < Infinity;
  return {
    depth: isWaiting ? depth : 0,
    waitingFromMs: followState(before?.waitingFromMs, isWaiting, nowMs),
    fullFromMs: followState(before?.fullFromMs, workers > 0 && busy >= workers, nowMs),
    done: followCount(before?.done, done, nowMs),
    slowestMs: 1000 * slowestIn(buckets),
    longestMs: longest < Infinity ? 1000 * longest : 0,
  };
}

function followRequests(before: RequestTrack | undefined, page: RequestsPage, nowMs: number): RequestTrack {
  const followed = COUNTS.map(name => [name, followCount(before?.[name], page[name], nowMs)]);
  const counters = Object.fromEntries(followed) as Record<RequestCount, Counter>;
  const now = { ...counters, isOwnServer: page.isOwnServer };
  if (before === undefined) return { ...now, getsFromMs: nowMs, putlessMs: nowMs, rejectedMs: [] };
  const isGap = now.gets !== before.gets && nowMs - before.gets.stillFromMs > GET_GAP_MS;
  const isAccepted = now.accepted !== before.accepted;
  // What speaks against the process must have grown.
  const isRejected = page.unauthorized > before.unauthorized.count;
  const rejectedMs = isRejected ? [...before.rejectedMs.slice(0, 2), nowMs] : before.rejectedMs;
  return {
    ...now,
    getsFromMs: isGap ? nowMs : before.getsFromMs,
    putlessMs: page.puts > before.puts.count ? before.putlessMs : nowMs,
    rejectedMs: isAccepted ? [] : rejectedMs,
  };
}
