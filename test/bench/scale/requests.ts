// What the API server's audit log says about the requests of one client. Pure.

export interface AuditedRequest {
  readonly atMs: number;
  readonly verb: string;
  /** Such as `pods/log`, or the path of a request for no resource, such as `/metrics`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** The status code; undefined while the request is served. */
  readonly code?: number;
}

interface AuditEvent {
  readonly auditID: string;
  readonly requestReceivedTimestamp: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** The requests in the text of an audit log, by the time of their arrival. A line that is still being written is left out. */
export function parseAudit(text: string): AuditedRequest[] {
  const found = new Map<string, AuditedRequest>();
  for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
    if (line === "") continue;
    const event = JSON.parse(line) as AuditEvent;
    // A watch, and the read of a log, have one line when the response starts and another one at its end.
    found.set(event.auditID, requestOf(event));
  }
  return [...found.values()].sort((a, b) => a.atMs - b.atMs);
}

function requestOf({ requestReceivedTimestamp, verb, requestURI, objectRef, responseStatus }: AuditEvent) {
  const { resource, subresource, namespace = "", name = "" } = objectRef ?? {};
  const path = requestURI.replace(/\?.*$/s, "");
  return {
    atMs: Date.parse(requestReceivedTimestamp),
    verb,
    resource: resource === undefined ? path : [resource, subresource].filter(Boolean).join("/"),
    namespace,
    name,
    ...(responseStatus?.code === undefined ? {} : { code: responseStatus.code }),
  };
}

/** Requests of one verb and resource, such as `get serviceaccounts`. */
export interface Count {
  readonly what: string;
  readonly count: number;
}

/** Counts requests by verb and resource, the most frequent first. */
export function countByKind(requests: readonly AuditedRequest[]): Count[] {
  const counts = new Map<string, number>();
  for (const { verb, resource } of requests) {
    const what = `${verb} ${resource}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts]
    .map(([what, count]) => ({ what, count }))
    .sort((a, b) => b.count - a.count || a.what.localeCompare(b.what));
}

/** Whether the request reads the log of a pod. */
export function isLogRead({ resource }: AuditedRequest): boolean {
  return resource === "pods/log";
}

/** Whether the request is for the operator's Lease. */
export function isLease({ resource }: AuditedRequest): boolean {
  return resource === "leases";
}

const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Whether the request changes an object other than the Lease. A review is a question, although its verb is `create`. */
export function isWrite(request: AuditedRequest): boolean {
  return WRITES.has(request.verb) && !isLease(request) && !request.resource.endsWith("reviews");
}

/** The requests that arrived within a time. */
export function within(requests: readonly AuditedRequest[], fromMs: number, toMs: number): AuditedRequest[] {
  return requests.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
}

/** How often the logs were read, in seconds. */
export interface Intervals {
  /** Number of different logs. */
  readonly logs: number;
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

/**
 * The times between two reads of one log, as far as they end within a time. A log whose last read is longer ago than any of them counts with the
 * time since that read, so that a log that is not read again is not overlooked.
 */
export function readIntervals(requests: readonly AuditedRequest[], fromMs: number, toMs: number): Intervals {
  const reads = new Map<string, number[]>();
  for (const { namespace, name, atMs } of within(requests, -Infinity, toMs).filter(isLogRead)) {
    const pod = `${namespace}/${name}`;
    reads.set(pod, [...(reads.get(pod) ?? []), atMs]);
  }
  const sorted = [...reads.values()].flatMap(times => intervalsOf(times, fromMs, toMs)).sort((a, b) => a - b);
  return { logs: reads.size, median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), max: quantile(sorted, 1) };
}

/** In seconds. */
function intervalsOf(times: readonly number[], fromMs: number, toMs: number): number[] {
  const ended = times.flatMap((atMs, i) => (i > 0 && atMs >= fromMs ? [(atMs - times[i - 1]!) / 1000] : []));
  const open = (toMs - times.at(-1)!) / 1000;
  return open > Math.max(0, ...ended) ? [...ended, open] : ended;
}

/** The value below which this share of the sorted values lies; NaN for no values. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}
