import type { RestartStatus } from "../../api/controller-resilience";

/** A week. Younger restarts may still count: those that did not help, for as long as the doubled cooldowns. */
export const RESTARTS_COUNTED_MS = 168 * 3_600_000;

/** The restarts of one remedy with their current outcomes, and the causes of that remedy. */
export interface SettledRestarts {
  readonly causes: readonly string[];
  readonly restarts: readonly RestartStatus[];
}

/** Replaces the restarts of each settled cause in status.restarts. Restarts with other causes stay unchanged. Oldest first. */
export function joinRestarts(before: readonly RestartStatus[], settled: readonly SettledRestarts[]): RestartStatus[] {
  const others = before.filter(({ cause }) => !settled.some(({ causes }) => causes.includes(cause)));
  const all = [...others, ...settled.flatMap(({ restarts }) => restarts)];
  return oldestFirst(all);
}

/** Sorts restarts by time. Those with an unreadable time come first. */
export function oldestFirst(restarts: readonly RestartStatus[]): RestartStatus[] {
  return restarts.toSorted((a, b) => (Date.parse(a.time) || 0) - (Date.parse(b.time) || 0));
}

/** Returns the restarts of one workload, such as `Deployment/app`. */
export function restartsOf(workload: string, history: readonly RestartStatus[]): RestartStatus[] {
  return history.filter(entry => entry.workload === workload);
}

/** Counts restarts that are confirmed in `after` and not in `before`: new ones, and requests that a crash had left open. */
export function countConfirmed(before: readonly RestartStatus[], after: readonly RestartStatus[]): number {
  const known = new Set(before.filter(isConfirmed).map(restartId));
  return after.filter(entry => isConfirmed(entry) && !known.has(restartId(entry))).length;
}

function isConfirmed(entry: RestartStatus): boolean {
  return entry.outcome !== "Requested";
}

/** Identifies a restart across histories. */
export function restartId(entry: RestartStatus): string {
  return `${entry.podUID ?? entry.pod} ${entry.time}`;
}
