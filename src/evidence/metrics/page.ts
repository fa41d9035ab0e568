import {
  GET_GAP_MS,
  type MetricsPage,
  parseSample,
  type PodMetricsTrack,
  type QueuePage,
  type QueueTrack,
  READINGS_APART_MS,
  type RequestCounts,
  type RequestTrack,
  type Sample,
} from "../../core/pod-metrics";

// From the lines of a page to what it says, and from page to page of the same process. Pure.

/** Most queues of a page that are kept: a large manager has dozens. */
const MAX_QUEUES = 256;

/** Most series of buckets of one queue: client-go has 12. */
const MAX_BUCKETS = 64;

/** A name that may appear in status and messages. A queue with another name is left out. */
const QUEUE_NAME = /^[A-Za-z0-9_.-]{1,63}$/;

/** The names of the API server for pods. */
const OWN_NAME = /^kubernetes\.default(?:\.svc(?:\.[a-z0-9.-]+)?)?(?::443)?$/;

/** A process without it cannot be told from its successor. */
export const START = "process_start_time_seconds";

const LEADER = "leader_election_master_status";
const REQUESTS = "rest_client_requests_total";
const BUCKET = "workqueue_work_duration_seconds_bucket";
const LONGEST = "workqueue_longest_running_processor_seconds";

/** What is added up of a queue: items that wait by their priority; busy workers, and all of them, as controller-runtime names them. */
const SUMS: Readonly<Record<string, "depth" | "busy" | "workers">> = {
  workqueue_depth: "depth",
  controller_runtime_active_workers: "busy",
  controller_runtime_max_concurrent_reconciles: "workers",
};

/** Each counts that a queue, or the controller of that name, has worked. client-go, controller-runtime, and cert-manager. */
const WORK = [
  "workqueue_work_duration_seconds_count",
  "controller_runtime_reconcile_errors_total",
  "certmanager_controller_sync_call_count",
  "certmanager_controller_sync_error_count",
];

/** A page has hundreds of lines, and may have hundreds of thousands, of other metrics. */
const WANTED = new RegExp(
  `^(?:${[START, LEADER, REQUESTS, BUCKET, LONGEST, ...Object.keys(SUMS), ...WORK].join("|")})[ {]`,
);

/** Takes the lines of one page. */
export class PageLines {
  readonly #queues = new Map<string, Draft>();
  readonly #ownHost: string;
  #requests: RequestCounts | undefined;
  #startSeconds = NaN;
  #isLeader: boolean | undefined;

  /** @param ownHost host and port at which the operator itself reaches the API server, as in a URL; absent: unknown */
  constructor(ownHost = "") {
    this.#ownHost = ownHost;
  }

  /** Takes a line of any metric. Returns false for a wanted one that is no sample: without it a count would seem to fall, and to rise later. */
  take(line: string): boolean {
    if (!WANTED.test(line)) return true;
    const sample = parseSample(line);
    if (sample === null) return false;
    const { name, value } = sample;
    if (name === START) this.#startSeconds = value;
    else if (name === LEADER) this.#isLeader = this.#isLeader === true || value === 1;
    else if (name === REQUESTS) this.#request(sample);
    else this.#queue(sample);
    return true;
  }

  /** Undefined: it has no start time of the process. */
  page(): MetricsPage | undefined {
    if (!Number.isFinite(this.#startSeconds)) return undefined;
    const requests = this.#requests;
    return {
      startSeconds: this.#startSeconds,
      ...(this.#isLeader === undefined ? {} : { isLeader: this.#isLeader }),
      queues: new Map(Array.from(this.#queues, ([name, draft]) => [name, queueOf(draft)])),
      ...(requests === undefined ? {} : { requests }),
    };
  }

  #request({ labels, value }: Sample): void {
    const [code, verb] = [labels.get("code") ?? "", labels.get("method") ?? labels.get("verb") ?? ""];
    const host = labels.get("host") ?? "";
    const before = this.#requests ?? NO_REQUESTS;
    const add = (count: number, is: boolean): number => count + (is ? value : 0);
    this.#requests = {
      gets: add(before.gets, verb === "GET"),
      puts: add(before.puts, verb === "PUT"),
      accepted: add(before.accepted, /^2\d\d$/.test(code)),
      unauthorized: add(before.unauthorized, code === "401"),
      refused: add(before.refused, /^(401|403|422)$/.test(code)),
      isOwnServer: before.isOwnServer && host !== "" && (host === this.#ownHost || OWN_NAME.test(host)),
    };
  }

  #queue({ name: metric, labels, value }: Sample): void {
    const draft = this.#draftOf(labels.get("name") ?? labels.get("controller") ?? "");
    if (draft === undefined) return;
    const sum = SUMS[metric];
    if (sum !== undefined) draft[sum] = (draft[sum] ?? 0) + value;
    else if (metric === LONGEST) draft.longest = Math.max(draft.longest ?? 0, value);
    else if (metric === BUCKET) addBucket(draft.buckets, labels.get("le"), value);
    else draft.done += value;
  }

  #draftOf(name: string): Draft | undefined {
    const known = this.#queues.get(name);
    if (known !== undefined || !QUEUE_NAME.test(name) || this.#queues.size >= MAX_QUEUES) return known;
    const draft = { done: 0, buckets: new Map<number, number>() };
    this.#queues.set(name, draft);
    return draft;
  }
}

const NO_REQUESTS: RequestCounts = { gets: 0, puts: 0, accepted: 0, unauthorized: 0, refused: 0, isOwnServer: true };

interface Draft {
  depth?: number;
  done: number;
  longest?: number;
  busy?: number;
  workers?: number;
  /** Items by the upper bound of their duration in seconds, those of lower bounds included. */
  readonly buckets: Map<number, number>;
}

function addBucket(buckets: Draft["buckets"], bound: string | undefined, value: number): void {
  const seconds = bound === "+Inf" ? Infinity : Number(bound ?? NaN);
  if (Number.isNaN(seconds) || (buckets.size >= MAX_BUCKETS && !buckets.has(seconds))) return;
  buckets.set(seconds, (buckets.get(seconds) ?? 0) + value);
}

function queueOf({ depth = NaN, done, longest = NaN, buckets, busy = NaN, workers = NaN }: Draft): QueuePage {
  const all = buckets.get(Infinity) ?? 0;
  const slowest = Math.min(...[...buckets].filter(([, items]) => items === all).map(([seconds]) => seconds));
  return {
    done,
    ...(Number.isFinite(depth) && { depth }),
    ...(Number.isFinite(longest) && { longestMs: 1000 * longest }),
    ...(all > 0 && { slowestMs: 1000 * slowest }),
    ...(workers > 0 && { isFull: busy >= workers }),
  };
}

/**
 * Returns what is known of a process after one more page. It begins anew with another process, and after a time without a page.
 *
 * @param nowMs on the monotonic clock
 */
export function followPage(before: PodMetricsTrack | undefined, page: MetricsPage, nowMs: number): PodMetricsTrack {
  const isSame = before?.startSeconds === page.startSeconds && nowMs - before.readMs <= READINGS_APART_MS;
  const known = isSame && before.isLeader === page.isLeader ? before : undefined;
  const { requests, queues, ...state } = page;
  return {
    ...state,
    fromMs: known?.fromMs ?? nowMs,
    readMs: nowMs,
    queues: new Map(Array.from(queues, ([name, queue]) => [name, followQueue(known?.queues.get(name), queue, nowMs)])),
    ...(requests === undefined ? {} : { requests: followRequests(known?.requests, requests, nowMs) }),
  };
}

function followQueue(before: QueueTrack | undefined, queue: QueuePage, nowMs: number): QueueTrack {
  const now = { ...queue, ...followStates(before, queue, nowMs) };
  if (before === undefined) return { ...now, idleFromMs: nowMs };
  // What is no number never equals what it was before.
  if (before.done !== queue.done) return { ...now, idleFromMs: nowMs, workedMs: nowMs };
  const { idleFromMs, workedMs } = before;
  return { ...now, idleFromMs, ...(workedMs !== undefined && { workedMs }) };
}

function followStates(
  { waitingFromMs, fullFromMs }: Partial<QueueTrack> = {},
  { depth = 0, isFull = false }: QueuePage,
  nowMs: number,
): Pick<QueueTrack, "waitingFromMs" | "fullFromMs"> {
  return {
    ...(depth > 0 && { waitingFromMs: waitingFromMs ?? nowMs }),
    ...(isFull && { fullFromMs: fullFromMs ?? nowMs }),
  };
}

function followRequests(before: RequestTrack | undefined, counts: RequestCounts, nowMs: number): RequestTrack {
  if (before === undefined) return { ...counts, getMs: nowMs, getsFromMs: nowMs, putsFromMs: nowMs, acceptedMs: nowMs };
  const has = (count: keyof Omit<RequestCounts, "isOwnServer">): boolean => counts[count] !== before[count];
  const refused = has("refused")
    ? { refusedMs: nowMs }
    : before.refusedMs !== undefined && { refusedMs: before.refusedMs };
  return {
    ...counts,
    getMs: has("gets") ? nowMs : before.getMs,
    getsFromMs: has("gets") && nowMs - before.getMs > GET_GAP_MS ? nowMs : before.getsFromMs,
    // What speaks against the process must have grown.
    putsFromMs: counts.puts > before.puts ? before.putsFromMs : nowMs,
    ...refused,
    ...followAnswers(
      before,
      { isAccepted: has("accepted"), isUnauthorized: counts.unauthorized > before.unauthorized },
      nowMs,
    ),
  };
}

function followAnswers(
  before: RequestTrack,
  { isAccepted, isUnauthorized }: { readonly isAccepted: boolean; readonly isUnauthorized: boolean },
  nowMs: number,
): Pick<RequestTrack, "acceptedMs" | "unauthorizedTimes" | "unauthorizedFromMs" | "unauthorizedMs"> {
  if (isAccepted) return { acceptedMs: nowMs };
  const { acceptedMs, unauthorizedTimes = 0, unauthorizedFromMs = nowMs, unauthorizedMs = nowMs } = before;
  const known = unauthorizedTimes === 0 ? {} : { unauthorizedTimes, unauthorizedFromMs, unauthorizedMs };
  if (!isUnauthorized) return { acceptedMs, ...known };
  return { acceptedMs, unauthorizedTimes: unauthorizedTimes + 1, unauthorizedFromMs, unauthorizedMs: nowMs };
}
