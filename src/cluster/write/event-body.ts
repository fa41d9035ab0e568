import { MANAGER } from "../../api/names";
import type { ObjectRef } from "../../core/intent";
import { oneLine } from "../../core/text";
import type { EventRecord } from "../../core/ports";
import { microTime } from "../../core/time";

/** Limit of events.k8s.io/v1. */
const MAX_NOTE_BYTES = 1024;

const ELLIPSIS = "…";

/** The API server requires this namespace for Events about cluster-scoped objects. */
const CLUSTER_EVENTS_NAMESPACE = "default";

/** Records with the same key belong to one Event series. */
export function eventKey(record: EventRecord): string {
  const { regarding, related, type, reason, action, note } = record;
  return JSON.stringify([
    regarding.kind,
    regarding.namespace,
    regarding.name,
    regarding.uid,
    related,
    type,
    reason,
    action,
    note,
  ]);
}

/** Longest part of the object's name in the Event's name, which has at most 253 characters. */
const MAX_ABOUT = 200;

/**
 * Returns the name of an Event: the object's name, as kubectl users expect, and a unique suffix. It has to be a DNS subdomain (RFC 1123);
 * names of RBAC objects, such as `system:node`, need not be.
 */
export function eventName({ regarding }: EventRecord, unique: string): string {
  const about = regarding.name
    .toLowerCase()
    .slice(0, MAX_ABOUT)
    .split(".")
    .map(label => label.replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, ""))
    .filter(label => label !== "");
  return [...about, unique].join(".");
}

export function eventNamespace(record: EventRecord): string {
  return record.regarding.namespace ?? CLUSTER_EVENTS_NAMESPACE;
}

export function buildEvent(
  record: EventRecord,
  as: { readonly name: string; readonly timeMs: number; readonly instance: string },
): object {
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: eventNamespace(record), name: as.name },
    eventTime: microTime(as.timeMs),
    reportingController: MANAGER,
    reportingInstance: as.instance.slice(0, 128),
    type: record.type,
    reason: record.reason,
    action: record.action,
    note: cutNote(record.note),
    regarding: referenceOf(record.regarding),
    ...(record.related === undefined ? {} : { related: referenceOf(record.related) }),
  };
}

/** Returns the merge patch for a repeated Event. */
export function buildSeries(count: number, lastMs: number): object {
  return { series: { count, lastObservedTime: microTime(lastMs) } };
}

/** Puts a note on one line without characters that a terminal may obey, and cuts it to 1 kB of UTF-8, between characters. */
export function cutNote(note: string): string {
  const line = oneLine(note);
  const bytes = Buffer.from(line, "utf8");
  if (bytes.length <= MAX_NOTE_BYTES) return line;
  let end = MAX_NOTE_BYTES - Buffer.byteLength(ELLIPSIS);
  // Bytes 10xxxxxx continue a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8") + ELLIPSIS;
}

function referenceOf(ref: ObjectRef): object {
  const { apiVersion, kind, namespace, name, uid, resourceVersion } = ref;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
