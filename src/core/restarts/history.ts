import type { RestartStatus } from "../../api/controller-resilience";

/** The longest maxRestartsWindow that the schema takes (168h): younger restarts may still count against a budget. */
export const RESTARTS_COUNTED_MS = 168 * 3_600_000;

/** The restarts of one remedy after it has judged them, and the causes that are its own. */
export interface ToldRestarts {
  readonly causes: readonly string[];
  readonly restarts: readonly RestartStatus[];
}

/** status.restarts after each remedy has told of its own; those of which none has told stay as they are. Oldest first. */
export function joinRestarts(before: readonly RestartStatus[], told: readonly ToldRestarts[]): RestartStatus[] {
  const others = before.filter(({ cause }) => !told.some(({ causes }) => causes.includes(cause)));
  const all = [...others, ...told.flatMap(({ restarts }) => restarts)];
  return all.toSorted((a, b) => (Date.parse(a.time) || 0) - (Date.parse(b.time) || 0));
}

/** Restarts that `after` knows to have been carried out and `before` did not: new ones, and requests that a crash had left open. */
export function countConfirmed(before: readonly RestartStatus[], after: readonly RestartStatus[]): number {
  const known = new Set(before.filter(isConfirmed).map(restartId));
  return after.filter(entry => isConfirmed(entry) && !known.has(restartId(entry))).length;
}

function isConfirmed(entry: RestartStatus): boolean {
  return entry.outcome !== "Requested";
}

/** What tells one restart from another, whoever tells of it. */
export function restartId(entry: RestartStatus): string {
  return `${entry.podUID ?? entry.pod} ${entry.time}`;
}
