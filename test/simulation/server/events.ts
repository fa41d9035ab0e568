import type { Obj } from "./objects";

// Events have two APIs. The store has them as the core group does.

const RENAMED = [
  ["note", "message"],
  ["regarding", "involvedObject"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedCount", "count"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
] as const;

type Fields = Record<string, unknown>;

/** An Event of events.k8s.io, as the core group has it. */
export function toCoreEvent<T extends Fields>(event: T): T {
  const core: Fields = { ...event };
  for (const [next, old] of RENAMED) {
    if (core[next] !== undefined) core[old] = core[next];
    Reflect.deleteProperty(core, next);
  }
  if (core["apiVersion"] !== undefined) core["apiVersion"] = "v1";
  return core as T;
}

const converted = new WeakMap<Obj, Obj>();

/** An Event of the core group, as events.k8s.io has it. */
export function toNewEvent(event: Obj): Obj {
  const known = converted.get(event);
  if (known !== undefined) return known;
  const next: Obj = { ...event, apiVersion: "events.k8s.io/v1" };
  for (const [name, old] of RENAMED) {
    if (next[old] !== undefined) next[name] = next[old] as unknown;
    Reflect.deleteProperty(next, old);
  }
  converted.set(event, next);
  return next;
}
