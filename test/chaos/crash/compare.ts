import { isDeepStrictEqual } from "node:util";
import { describeCall, isStatus } from "../calls";
import type { Write } from "../proxy";
import type { State } from "../scenario";

/** The result of one run of a scenario. */
export interface Run {
  /** Those of the scenario, as the proxy saw them. */
  readonly writes: readonly Write[];
  /** Of objects that were at their end. */
  readonly strays: readonly Write[];
  readonly state: State;
  /** Why it came to no end. */
  readonly trouble?: string | undefined;
}

/** What the API server has carried out, without status: each kind of write, and how often. Pure. */
export function deedsOf(writes: readonly Write[]): Record<string, number> {
  const deeds: Record<string, number> = {};
  for (const write of writes) {
    if (isStatus(write) || write.code === undefined || write.code >= 300) continue;
    const name = describeCall(write);
    deeds[name] = (deeds[name] ?? 0) + 1;
  }
  return deeds;
}

/** What a run did otherwise than the recorded one, as sentences; none if it came to the same. Pure. */
export function differences(recorded: Run, run: Run): string[] {
  return [
    ...(run.trouble === undefined ? [] : [run.trouble]),
    ...differing(recorded.state, run.state),
    ...differing(deedsOf(recorded.writes), deedsOf(run.writes)),
    ...run.strays.map(write => `${describeCall(write)} in ${write.namespace ?? ""}, which was at its end`),
  ];
}

function differing(recorded: State, seen: State): string[] {
  const keys = [...new Set([...Object.keys(recorded), ...Object.keys(seen)])];
  return keys
    .filter(key => !isDeepStrictEqual(recorded[key], seen[key]))
    .map(key => `${key}: ${text(recorded[key])} in the recorded run, ${text(seen[key])} in this one`);
}

function text(value: unknown): string {
  return value === undefined ? "none" : JSON.stringify(value);
}
