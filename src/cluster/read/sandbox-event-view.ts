import type { CoreV1Event, EventsV1Event } from "@kubernetes/client-node";
import { numberOf, objectOf, textOf, timeOf } from "../../core/json";
import type { SandboxEventView } from "../../core/views";
import type { Received } from "./received";
import { isRejectedCredential } from "./sandbox-cause";

/** An Event of either API: the older one reads Events of the newer one, and the other way round. */
type Event = Received<CoreV1Event & EventsV1Event>;

/** The kubelet's reason for a pod sandbox that failed. */
export const SANDBOX_FAILED = "FailedCreatePodSandBox";

/** client-go marks an Event that combines several messages this way; it contains the last one. */
const COMBINED = "(combined from similar events)";

/**
 * Returns the view of an Event of the core API or events.k8s.io; null without uid, name, node or time, or with another reason. The
 * view has a classification of the message instead of its text.
 */
export function sandboxEventView(raw: unknown): SandboxEventView | null {
  const event = objectOf(raw) as Event;
  if (event.reason !== SANDBOX_FAILED) return null;
  const identity = identityOf(event);
  const node = nodeOf(event);
  const times = timesOf(event);
  if (identity === undefined || node === undefined || times === undefined) return null;
  const message = messageOf(event);
  // The messages of the earlier occurrences are unknown.
  const firstMs = message.startsWith(COMBINED) ? times.lastMs : times.firstMs;
  return {
    ...identity,
    node,
    firstMs,
    lastMs: times.lastMs,
    count: countOf(event),
    unauthorized: isRejectedCredential(message),
  };
}

// Many clients can create Events, not only the kubelet. A value of another type must neither throw nor count, so types are checked.

/** An Event is identified without its creation time. */
function identityOf({ metadata }: Event): Pick<SandboxEventView, "namespace" | "name" | "uid"> | undefined {
  const [name, uid] = [textOf(metadata?.name), textOf(metadata?.uid)];
  if (name === undefined || uid === undefined) return undefined;
  return { namespace: metadata?.namespace ?? "", name, uid };
}

function messageOf({ message, note }: Event): string {
  return textOf(message) ?? textOf(note) ?? "";
}

/** The kubelet's recorder sets the host. Reporters of the newer API set their instance, which is the node for a kubelet. */
function nodeOf({ source, deprecatedSource, reportingInstance }: Event): string | undefined {
  const names = [source?.host, deprecatedSource?.host, reportingInstance];
  return names.map(textOf).find(name => name !== undefined && name !== "");
}

function timesOf(event: Event): { firstMs: number; lastMs: number } | undefined {
  const first = firstOf([event.firstTimestamp, event.deprecatedFirstTimestamp, event.eventTime]);
  const last = firstOf([
    event.series?.lastObservedTime,
    event.lastTimestamp,
    event.deprecatedLastTimestamp,
    event.eventTime,
  ]);
  const [lastMs, firstMs] = [last ?? first, first ?? last];
  if (lastMs === undefined || firstMs === undefined) return undefined;
  return { firstMs: Math.min(firstMs, lastMs), lastMs };
}

/** Returns the first of these times that is set and valid. */
function firstOf(times: readonly unknown[]): number | undefined {
  return times.map(timeOf).find(ms => ms !== undefined);
}

function countOf({ series, count, deprecatedCount }: Event): number {
  return Math.max(1, ...[series?.count, count, deprecatedCount].map(value => numberOf(value) ?? 1));
}
