import type { LogClass } from "./classes";
import { FORBIDDEN, TOO_MANY_REQUESTS, UNAUTHORIZED } from "./denial";
import { isDenied } from "./is-denied";
import { isInbound, isOthersAnswer, isRejectedEvent, isRelayed } from "./others-requests";
import { parseRecord, type ParsedRecord } from "./parse-record";
import { hasLiteral } from "./required-literals";
import { isLeaseLost, isThrottled, isWatchEnded } from "./symptoms";
import { includesAny } from "./text";

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
  // A rejected Event quotes failures of other programs, but the rejected write is this process's own request.
  { class: "unauthorized", holds: record => isRejectedEvent(record, UNAUTHORIZED.word) },
  // This process is the server: it denied a request of one of its clients.
  { class: "none", holds: isInbound },
  // The record repeats a denial between two other parties.
  { class: "none", holds: isRelayed },
  // The answer comes from another server.
  { class: "none", holds: isOthersAnswer },
  // "connection is unauthorized: pods is forbidden" is a 403 in the words of a 401.
  { class: "forbidden", holds: record => includesAny(record.lower, FORBIDDEN.phrases) || isRbacSentence(record) },
  // Before lease-lost: a lease that is lost because of a 401 is a 401.
  { class: "unauthorized", holds: record => isDenied(record, UNAUTHORIZED) },
  { class: "forbidden", holds: record => isDenied(record, FORBIDDEN) || isUnreadableForbidden(record) },
  { class: "lease-lost", holds: isLeaseLost },
  { class: "watch-ended", holds: isWatchEnded },
  { class: "throttled", holds: record => isThrottled(record) || isDenied(record, TOO_MANY_REQUESTS) },
];

/** `User "alice" cannot list pods at the cluster scope`: RBAC before Kubernetes 1.8, without the word "forbidden". */
function isRbacSentence({ lower }: ParsedRecord): boolean {
  return lower.includes('" cannot ') && includesAny(lower, RBAC_SCOPES);
}

const RBAC_SCOPES = [" at the cluster scope", ' in the namespace "', ' in project "'];

/** What apimachinery prints for a 403 without a Status object on an open watch. */
function isUnreadableForbidden(record: ParsedRecord): boolean {
  return includesAny(record.lower, [": unknown (get ", '"unknown (get ']);
}
