import type { SandboxEventView } from "../../core/views";
import { type JsonObject, numberOf, objectOf, textOf, timeOf } from "../../core/json";
import { isRejectedCredential } from "./sandbox-cause";

/** The kubelet's reason for a pod sandbox that failed. */
export const SANDBOX_FAILED = "FailedCreatePodSandBox";

/** client-go marks an Event that combines several messages this way; it contains the last one. */
const COMBINED = "(combined from similar events)";

/**
 * Returns the view of an Event of the core API or events.k8s.io; null without uid, name, node or time, or with another reason. The
 * view has a classification of the message instead of its text.
 */
export function sandboxEventView(raw: unknown): SandboxEventView | null {
  const event = objectOf(raw);
  const metadata = objectOf(event["metadata"]);
  const uid = textOf(metadata["uid"]);
  const name = textOf(metadata["name"]);
  const node = nodeOf(event);
  const times = timesOf(event);
  if (event["reason"] !== SANDBOX_FAILED || uid === undefined || name === undefined) return null;
  if (node === undefined || times === undefined) return null;
  const message = textOf(event["message"]) ?? textOf(event["note"]) ?? "";
  // The messages of the earlier occurrences are unknown.
  const firstMs = message.startsWith(COMBINED) ? times.lastMs : times.firstMs;
  return {
    namespace: textOf(metadata["namespace"]) ?? "",
    name,
    uid,
    node,
    firstMs,
    lastMs: times.lastMs,
    count: countOf(event),
    unauthorized: isRejectedCredential(message),
  };
}

/** The kubelet's recorder sets the host. Reporters of the newer API set their instance, which is the node for a kubelet. */
function nodeOf(event: JsonObject): string | undefined {
  const sources = [event["source"], event["deprecatedSource"]].map(source => textOf(objectOf(source)["host"]));
  return [...sources, textOf(event["reportingInstance"])].find(host => host !== undefined && host !== "");
}

function timesOf(event: JsonObject): { firstMs: number; lastMs: number } | undefined {
  const at = timeOf(event["eventTime"]);
  const first = timeOf(event["firstTimestamp"]) ?? timeOf(event["deprecatedFirstTimestamp"]) ?? at;
  const last =
    timeOf(objectOf(event["series"])["lastObservedTime"]) ??
    timeOf(event["lastTimestamp"]) ??
    timeOf(event["deprecatedLastTimestamp"]) ??
    at;
  const [lastMs, firstMs] = [last ?? first, first ?? last];
  if (lastMs === undefined || firstMs === undefined) return undefined;
  return { firstMs: Math.min(firstMs, lastMs), lastMs };
}

function countOf(event: JsonObject): number {
  const counts = [objectOf(event["series"])["count"], event["count"], event["deprecatedCount"]];
  return Math.max(1, ...counts.map(count => numberOf(count) ?? 1));
}
