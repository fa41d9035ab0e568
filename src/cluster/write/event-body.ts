import { MANAGER } from "../../api/names";
import type { ObjectRef } from "../../core/intent";
import type { EventRecord } from "../../core/ports";
import { microTime } from "../../core/time";

/** events.k8s.io/v1 refuses longer notes, in bytes. */
const MAX_NOTE_BYTES = 1024;

/** Marks a note that was cut. */
const ELLIPSIS = "…";

/** Events about cluster-scoped objects have to be in this namespace. */
const CLUSTER_EVENTS_NAMESPACE = "default";

/** Two records with the same key are one Event and its repetition. */
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

/** Of the name of what an Event is about; a name has 253 characters at most. */
const MAX_ABOUT = 200;

/**
 * The name of an Event: what it is about, as kubectl's users expect it, and what makes it the only one. It has to be a DNS subdomain (RFC 1123),
 * which names in RBAC need not be: `system:node` is one of these.
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

/** Where an Event has to be created. */
export function eventNamespace(record: EventRecord): string {
  return record.regarding.namespace ?? CLUSTER_EVENTS_NAMESPACE;
}

/** The Event object. Pure. */
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

/** The patch that tells of repetitions. Pure. */
export function buildSeries(count: number, lastMs: number): object {
  return { series: { count, lastObservedTime: microTime(lastMs) } };
}

/** At most 1 kB of UTF-8, cut between characters. Pure. */
export function cutNote(note: string): string {
  const bytes = Buffer.from(note, "utf8");
  if (bytes.length <= MAX_NOTE_BYTES) return note;
  let end = MAX_NOTE_BYTES - Buffer.byteLength(ELLIPSIS);
  // Bytes 10xxxxxx continue a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8") + ELLIPSIS;
}

function referenceOf(ref: ObjectRef): object {
  const { apiVersion, kind, namespace, name, uid, resourceVersion } = ref;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
