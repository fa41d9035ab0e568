import type { Ground } from "./ground";
import { attempt, type Obj } from "../server/objects";

/** What an Event is about, and who writes it. */
export interface Told {
  readonly object: Obj;
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  /** The node of a kubelet. */
  readonly host?: string;
  readonly type?: "Normal" | "Warning";
}

/** Writes an Event, or counts it again if the same was written before. */
export function tell(ground: Ground, told: Told): void {
  const { object, reason, component } = told;
  const { name, namespace = "default", uid } = object.metadata;
  const event = `${name}.${reason.toLowerCase()}.${uid.slice(0, 8)}`;
  const now = ground.store.time();
  ground.store.as({ manager: component }, () => {
    if (ground.store.get("events", namespace, event) !== undefined)
      return void ground.store.update("events", namespace, event, draft => {
        Object.assign(draft, { count: (draft["count"] as number) + 1, lastTimestamp: now, message: told.message });
      });
    attempt(() => void ground.store.create("events", newEvent(told, event, now)));
  });
}

function newEvent({ object, reason, message, component, host, type = "Warning" }: Told, name: string, now: string) {
  const { apiVersion, kind, metadata } = object;
  const { namespace = "default", uid } = metadata;
  return {
    metadata: { name, namespace },
    involvedObject: { apiVersion, kind, namespace, name: metadata.name, uid },
    ...{ reason, message, type, count: 1, firstTimestamp: now, lastTimestamp: now },
    source: { component, ...(host === undefined ? {} : { host }) },
    ...{ reportingComponent: component, reportingInstance: host ?? "" },
  };
}
