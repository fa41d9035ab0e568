import { isDeepStrictEqual } from "node:util";
import { describeCall, isStatus } from "../calls";
import type { Write } from "../proxy";
import type { State } from "../scenario";

/** The result of one run of a scenario. */
export interface Run {
  /** Writes of the scenario, as the proxy saw them. */
  readonly writes: readonly Write[];
  /** Writes to objects of finished scenarios. */
  readonly strays: readonly Write[];
  readonly state: State;
  /** Why the run did not end. */
  readonly trouble?: string | undefined;
}

/** Counts each kind of write that the API server has carried out, except of status. Pure. */
export function actionsOf(writes: readonly Write[]): Record<string, number> {
  const actions: Record<string, number> = {};
  for (const write of writes) {
    if (isStatus(write) || write.code === undefined || write.code >= 300) continue;
    const name = describeCall(write);
    actions[name] = (actions[name] ?? 0) + 1;
  }
  return actions;
}

/** Differences between a run and the recorded one, one sentence each. Pure. */
export function differences(recorded: Run, run: Run): string[] {
  return [
    ...(run.trouble === undefined ? [] : [run.trouble]),
    ...differing(recorded.state, run.state),
    ...differing(actionsOf(recorded.writes), actionsOf(run.writes)),
    ...run.strays.map(write => `${describeCall(write)} in ${write.namespace ?? ""}, which was finished`),
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
