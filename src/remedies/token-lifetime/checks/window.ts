import { describeOpening, problemOf, windowsAt } from "../windows";
import { RECHECK_MS, type DaemonSetFinding } from "../finding";
import { entryOf, isRelease, nameOf, type Subject } from "../subject";

/** A change is not urgent, so it begins in a maintenance window. Restoring the template never waits. */
export function windowClosed(subject: Subject): DaemonSetFinding | undefined {
  const { spec, nowMs } = subject;
  const window = windowsAt(spec.windows, nowMs);
  if (window.isOpen || isRelease(subject)) return undefined;
  const problem = problemOf(spec.windows, nowMs);
  const sentence = `${nameOf(subject)}: bounding its tokens waits; ${describeOpening(window)}.`;
  return {
    status: "False",
    reason: "WaitingForWindow",
    sentence: problem === undefined ? sentence : `${sentence} ${problem}`,
    entry: entryOf(subject, "Waiting"),
    isStalled: problem !== undefined,
    recheckAfterMs: window.opensMs === undefined ? RECHECK_MS : window.opensMs - nowMs,
  };
}
