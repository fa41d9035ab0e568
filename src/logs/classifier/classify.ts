import { FORBIDDEN, TOO_MANY_REQUESTS, UNAUTHORIZED } from "./status-codes";
import { isDenied, isRejectedToken } from "./is-denied";
import { isInbound, isOthersAnswer, isRejectedEvent, isRelayed } from "./others-requests";
import { type ParsedRecord, parseRecord } from "./parse-record";
import { hasLiteral } from "./literals";
import { includesAny, phrases, wordBefore } from "./text";

/**
 * What a log record says about the requests of its own process to the API server.
 * - `unauthorized`: the API server answered a request 401.
 * - `forbidden`: the API server answered a request 403.
 * - `lease-lost`: the process lost its Lease. An attempt that failed is none: the next may succeed, and one on standby makes them, too.
 * - `throttled`: requests waited or were rejected because of their rate.
 * - `none`: anything else, including every 401 from or to another process.
 */
export type LogClass = "unauthorized" | "forbidden" | "lease-lost" | "throttled" | "none";

/**
 * Returns what a log record says about the requests of its own process to the API server.
 * @param record one record as the log contains it. It may have several lines, the container runtime's prefix on each
 *   line, colors, and other logs quoted in it.
 * @returns its class; `none` if the record is about anything else.
 *   Never throws; takes time linear in the length of the record.
 */
export function classify(record: string): LogClass {
  if (!hasLiteral(record)) return "none";
  const parsed = parseRecord(record);
  return CHECKLIST.find(check => check.holds(parsed))?.class ?? "none";
}

interface Check {
  readonly class: LogClass;
  readonly holds: (record: ParsedRecord) => boolean;
}

/** The first match wins. */
const CHECKLIST: readonly Check[] = [
  // The second line of an exception whose first was not read does not say who was asked.
  { class: "none", holds: record => record.text.startsWith("Reason: ") },
  // A rejected Event quotes failures of other programs, but the rejected write is this process's own request.
  { class: "unauthorized", holds: record => isRejectedEvent(record, UNAUTHORIZED.word) },
  // This process is the server: it denied a request of one of its clients.
  { class: "none", holds: isInbound },
  // The record repeats a denial between two other parties.
  { class: "none", holds: isRelayed },
  // The answer comes from another server.
  { class: "none", holds: isOthersAnswer },
  // "connection is unauthorized: pods is forbidden" is a 403 in the words of a 401.
  { class: "forbidden", holds: record => includesAny(record.lower, FORBIDDEN.phrases) },
  // Before lease-lost: a lease that is lost because of a 401 is a 401.
  { class: "unauthorized", holds: record => isDenied(record, UNAUTHORIZED) || isRejectedToken(record) },
  { class: "forbidden", holds: record => isDenied(record, FORBIDDEN) || isUnreadableForbidden(record) },
  { class: "lease-lost", holds: record => isLeaseLost(record) },
  { class: "throttled", holds: record => isThrottled(record) || isDenied(record, TOO_MANY_REQUESTS) },
];

/** What apimachinery prints for a 403 without a Status object on an open watch. */
function isUnreadableForbidden(record: ParsedRecord): boolean {
  return includesAny(record.lower, [": unknown (get ", '"unknown (get ']);
}

/** Whether the process lost leadership, for a reason other than a denial. */
function isLeaseLost(record: ParsedRecord): boolean {
  const { lower } = record;
  if (includesAny(lower, LEADERSHIP_LOST)) return true;
  // "Migration leader lost: node-7" is the end of a task that one process had to do.
  const leader = lower.indexOf("leader lost");
  return leader >= 0 && wordBefore(lower, leader - 1) === "";
}

const LEADERSHIP_LOST = [
  ...phrases(
    "leader election lost, leaderelection lost, lost leader election, leadership lost, lost leadership",
    "lost lease, lost the lease, lost the leader, leadership was lost, failed to renew lease, failed to renew leader",
    "failed to renew leadership, no longer the leader, no longer leader, stopped leading, lease lost",
    "lost lock, lost leader lease, could not renew lease, unable to renew lease",
    "cannot renew lease, renew deadline exceeded, stepping down as leader, giving up leadership, stopped being a leader",
  ),
];

/** Whether requests to the API server waited or were rejected because of their rate. */
function isThrottled(record: ParsedRecord): boolean {
  const { lower } = record;
  if (includesAny(lower, THROTTLED)) return true;
  const tooMany = includesAny(lower, ["toomanyrequests", "too many requests", "throttl"]);
  return tooMany && includesAny(lower, ["kubernetes", "apiserver", "/apis/", "/api/v1/", "kopf"]);
}

const THROTTLED = [
  ...phrases(
    "client-side throttling, server-side throttling, throttling request took",
    "rate limiter wait returned an error, server has received too many requests, throttling is over",
    "throttling for",
  ),
];
