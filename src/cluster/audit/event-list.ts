import { isIP } from "node:net";
import { objectOf, timeOf } from "../../core/json";
import type { RejectedRequest } from "../../core/rejections";

/** Stages in which the response code is known. The API server reports a failed authentication when its response starts. */
const STAGES: ReadonlySet<unknown> = new Set(["ResponseStarted", "ResponseComplete"]);

/** Most events of one list that are looked at: the API server sends 400 at most by default. */
export const MOST_EVENTS = 2_000;

/**
 * Returns the requests of an audit.k8s.io/v1 EventList that were answered 401; undefined if the text is none. Takes the response code, the
 * time and the last address of each event, and nothing else.
 */
export function rejectedIn(text: string): RejectedRequest[] | undefined {
  const list = parsed(text);
  const { kind, apiVersion, items } = list;
  if (kind !== "EventList" || apiVersion !== "audit.k8s.io/v1" || !Array.isArray(items)) return undefined;
  return items.slice(0, MOST_EVENTS).flatMap((item): RejectedRequest[] => rejectedRequest(objectOf(item)));
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function rejectedRequest({
  stage,
  responseStatus,
  sourceIPs,
  stageTimestamp,
}: Readonly<Record<string, unknown>>): RejectedRequest[] {
  if (objectOf(responseStatus)["code"] !== 401 || !STAGES.has(stage)) return [];
  // The others are from headers, which any client can make up.
  const address: unknown = Array.isArray(sourceIPs) ? sourceIPs.at(-1) : undefined;
  const atMs = timeOf(stageTimestamp);
  if (typeof address !== "string" || isIP(address) === 0 || atMs === undefined) return [];
  return [{ address, atMs }];
}
