import { Cron } from "croner";
import type { TokenLifetimeSpec } from "../../api/controller-resilience";
import { parseDuration, toSeconds } from "../../core/time";
import { type DaemonSetFinding, entryOf, nameOf, RECHECK_MS, type Subject } from "./subject";

// Maintenance windows. A window opens at each time of its schedule, in its time zone, and closes after its duration of elapsed
// time. What the clock skips when daylight saving time begins opens as soon as the skipped hour is over; what it repeats opens once.

/** One entry of `spec.tokenLifetime.windows`. */
export type MaintenanceWindow = NonNullable<TokenLifetimeSpec["windows"]>[number];

/** When the window that is open opened, else when the next opens, in milliseconds since the epoch; Infinity: none ever does. Pure. */
export function openingOf(windows: readonly MaintenanceWindow[], nowMs: number): number {
  return Math.min(...openingsOf(windows, nowMs));
}

/** Returns what is wrong with the first window that never opens, and what to do; undefined if each one opens. */
export function problemOf(windows: readonly MaintenanceWindow[] | undefined, nowMs: number): string | undefined {
  const all = windows ?? [];
  const index = openingsOf(all, nowMs).indexOf(Infinity);
  const window = all[index];
  if (window === undefined) return undefined;
  return (
    `spec.tokenLifetime.windows[${index}] never opens: expected a cron schedule of five fields, such as 0 2 * * 6, with a date that exists, ` +
    `and an IANA time zone, such as Europe/Berlin, got "${window.schedule}" and "${window.timeZone}". Correct or remove it.`
  );
}

/** The last result of {@link openingsOf}: a schedule takes milliseconds, and a plan asks for each of its DaemonSets. */
const known = new WeakMap<readonly MaintenanceWindow[], { readonly nowMs: number; readonly openings: number[] }>();

function openingsOf(windows: readonly MaintenanceWindow[], nowMs: number): number[] {
  const last = known.get(windows);
  if (last?.nowMs === nowMs) return last.openings;
  const openings = windows.map(window => opensAt(window, nowMs));
  known.set(windows, { nowMs, openings });
  return openings;
}

/** When a window that is open opened, or when it opens next; Infinity if it never does, or schedule or time zone are invalid. */
function opensAt({ schedule, timeZone, duration }: MaintenanceWindow, nowMs: number): number {
  const after = new Date(nowMs - parseDuration(duration));
  const year = after.getUTCFullYear();
  // Up to eight years lie between two 29 February. Without years Croner looks for 30 February until the year 3000.
  const pattern = `0 ${schedule} ${year - 1}-${year + 9}`;
  try {
    return (
      new Cron(pattern, { timezone: timeZone, paused: true, mode: "7-part" }).nextRun(after)?.getTime() ?? Infinity
    );
  } catch {
    return Infinity;
  }
}

/** A change is not urgent, so it begins in a maintenance window; without one always. Restoring the template never waits. */
export function windowClosed(subject: Subject): DaemonSetFinding | undefined {
  const { windows = [] } = subject.spec;
  const { nowMs } = subject;
  const opensMs = openingOf(windows, nowMs);
  if (windows.length === 0 || opensMs <= nowMs) return undefined;
  const problem = problemOf(windows, nowMs);
  const opening =
    opensMs === Infinity ? "no window opens" : `the next maintenance window opens at ${toSeconds(new Date(opensMs))}`;
  const sentence = `${nameOf(subject)}: bounding its tokens waits; ${opening}.`;
  return {
    status: "False",
    reason: "WaitingForWindow",
    sentence: problem === undefined ? sentence : `${sentence} ${problem}`,
    entry: entryOf(subject, "Waiting"),
    isStalled: problem !== undefined,
    recheckAfterMs: opensMs === Infinity ? RECHECK_MS : opensMs - nowMs,
  };
}
