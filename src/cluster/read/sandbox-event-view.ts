import type { SandboxEventView } from "../../core/views";
import { type JsonObject, numberOf, objectOf, textOf, timeOf } from "../../core/json";
import { isRejectedCredential } from "./sandbox-cause";

/** The reason that the kubelet gives when it can't make the sandbox of a pod. */
export const SANDBOX_FAILED = "FailedCreatePodSandBox";

/** How client-go marks an Event that stands for several with different messages: it has the last one's. */
const COMBINED = "(combined from similar events)";

/**
 * An Event of the core API or of events.k8s.io as a view; null without uid, name, node or time, or with another reason. Its message is
 * classified and not kept.
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
  // Of the earlier ones nobody knows what they said.
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

/** The kubelet's recorder gives the host; whoever uses the newer API gives its instance, which for the kubelet is the node too. */
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
