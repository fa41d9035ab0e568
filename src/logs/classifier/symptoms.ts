import type { ParsedRecord } from "./parse-record";
import { includesAny, phrases } from "./text";

/** Whether the process lost leadership or could not renew the lock, for a reason other than a denial. */
export function isLeaseLost(record: ParsedRecord): boolean {
  const { lower } = record;
  if (includesAny(lower, LEADERSHIP_LOST)) return true;
  // Two candidates wrote at the same time; the next attempt succeeds.
  if (lower.includes("operation cannot be fulfilled")) return false;
  if (includesAny(lower, LOCK_NOT_RENEWED)) return true;
  // `?timeout=5s` in the URL is the limit and no outcome.
  return includesAny(lower, LOCK_NOT_READ) && includesAny(lower.replaceAll("timeout=", ""), TOO_LATE);
}

const LEADERSHIP_LOST = [
  ...phrases(
    "leader election lost, leaderelection lost, lost leader election, leadership lost, lost leadership",
    "lost lease, lost the lease, lost the leader, leadership was lost, failed to renew lease, failed to renew leader",
    "failed to renew leadership, no longer the leader, no longer leader, stopped leading, lease lost",
    "lost lock, leader lost, lost leader lease, could not renew lease, unable to renew lease",
    "cannot renew lease, renew deadline exceeded, stepping down as leader, giving up leadership",
  ),
];
const LOCK_NOT_RENEWED = ["failed to update lock", "failed to update lease", "failed to tryacquireorrenew"];
const LOCK_NOT_READ = [
  "error retrieving resource lock",
  "error retrieving lease lock",
  "error initially creating lease",
];
const TOO_LATE = ["timeout", "timed out", "deadline exceeded", "request canceled"];

/** Whether a watch ended or its resource version expired, so that the client relists. */
export function isWatchEnded(record: ParsedRecord): boolean {
  const { lower } = record;
  if (includesAny(lower, WATCH_ENDED)) return true;
  return lower.includes("watch") && includesAny(lower, STREAM_CUT);
}

const WATCH_ENDED = [
  ...phrases(
    "too old resource version, resource version too old, resourceversion too old, watch is too old",
    "list is too old, an event from the watch stream, watch closed, watch channel closed",
    "watch stream closed, watch stream ended, watch connection expired, revision has been compacted",
  ),
  ...["very short watch", "watch expired", "reason:expired,code:410", "closed the watch", "watch connection closed"],
];
const STREAM_CUT = [
  ...[
    "unexpected eof",
    "410 gone",
    "410 client error",
    "channel closed",
    "socket hang up",
    "ended with",
    "client connection lost",
    "connection reset by peer",
    "code: 410",
    '"code":410',
  ],
  ...phrases(
    "stream error, received goaway, server sent goaway, error 410, status 410, (410)",
    "might have been closed",
  ),
];

/** Whether requests to the API server waited or were rejected because of their rate. */
export function isThrottled(record: ParsedRecord): boolean {
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
