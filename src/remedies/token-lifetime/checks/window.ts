import { describeOpening, windowsAt } from "../../../core/windows";
import { RECHECK_MS, type DaemonSetFinding } from "../finding";
import { entryOf, isRelease, nameOf, type Subject } from "../subject";

/** A change is not urgent, so it begins in a maintenance window. Restoring the template never waits. */
export function windowClosed(
  subject: Subject,
  what = `${nameOf(subject)}: bounding its tokens waits`,
): DaemonSetFinding | undefined {
  const { observed, nowMs } = subject;
  const window = windowsAt(observed.windows, nowMs);
  if (window.isOpen || isRelease(subject)) return undefined;
  return {
    status: "False",
    reason: "WaitingForWindow",
    sentence: `${what}; ${describeOpening(window)}.`,
    entry: entryOf(subject, "Waiting"),
    recheckAfterMs: window.next === undefined ? RECHECK_MS : window.next.opensMs - nowMs,
  };
}
