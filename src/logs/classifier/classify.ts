import type { LogClass } from "./classes";
import { FORBIDDEN, TOO_MANY_REQUESTS, UNAUTHORIZED } from "./denial";
import { hasLiteral } from "./literals";
import { read, type Reading } from "./sentences";
import { isInbound, isOthersAnswer, isRejectedEvent, isRelayed } from "./speaker";
import { isLeaseLost, isThrottled, isWatchEnded } from "./symptoms";
import { includesAny } from "./text";
import { isDenied } from "./verdict";

/**
 * What a log record says about its own process and the API server.
 * @param record one record as it stands in the log; it may hold line breaks, with the container runtime's prefix on each
 *   line, colours, and logs quoted in logs.
 * @returns its class; `none` for everything that is not about this process's own requests to a kube-apiserver.
 *   Never throws; time is linear in the length of the record.
 */
export function classify(record: string): LogClass {
  if (!hasLiteral(record)) return "none";
  const reading = read(record);
  return CHECKLIST.find(check => check.holds(reading))?.class ?? "none";
}

interface Check {
  readonly class: LogClass;
  readonly holds: (reading: Reading) => boolean;
}

/** First match wins. */
const CHECKLIST: readonly Check[] = [
  // A refused Event quotes other programs' failures, but the refusal is this process's own.
  { class: "unauthorized", holds: reading => isRejectedEvent(reading, UNAUTHORIZED.word) },
  // Somebody asked this process: the denial is its own, and of another's credentials.
  { class: "none", holds: isInbound },
  // Somebody else was asked, or asked: the denial is only passed on.
  { class: "none", holds: reading => isRelayed(reading) && !isSlow(reading) },
  // The answer itself shows that it is not the API server's.
  { class: "none", holds: isOthersAnswer },
  // "connection is unauthorized: pods is forbidden": 403 in the words of a 401 is a 403.
  { class: "forbidden", holds: reading => includesAny(reading.lower, FORBIDDEN.phrases) },
  // A lease that is lost because of a 401 is a 401: the cause is named, not its effect.
  { class: "unauthorized", holds: reading => isDenied(reading, UNAUTHORIZED) },
  { class: "forbidden", holds: reading => isDenied(reading, FORBIDDEN) || isUnreadableForbidden(reading) },
  { class: "lease-lost", holds: isLeaseLost },
  { class: "watch-ended", holds: isWatchEnded },
  { class: "throttled", holds: reading => isThrottled(reading) || isDenied(reading, TOO_MANY_REQUESTS) },
];

/** Requests that waited were sent by this process, wherever they went. */
function isSlow(reading: Reading): boolean {
  return reading.lower.includes("client-side throttling");
}

/** apimachinery's words for a 403 without a Status on an open watch; its 401 has words of its own. */
function isUnreadableForbidden(reading: Reading): boolean {
  return includesAny(reading.lower, [": unknown (get ", '"unknown (get ']);
}
