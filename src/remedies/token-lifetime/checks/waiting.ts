import type { DaemonSetStatus } from "../../../api/controller-resilience";
import { toSeconds } from "../../../core/time";
import type { DaemonSetFinding } from "../finding";
import type { Subject } from "../subject";

/** A person must act after a wait of this long, in milliseconds. */
const STALLED_AFTER_MS = 3_600_000;

/** Outcomes of a change that is not made yet. */
const WAITING: readonly DaemonSetStatus["outcome"][] = ["Waiting", "Planned"];

/** Records when a change began to wait. No wait lasts forever: after an hour the DaemonSet is Stalled. */
export function withPatience(finding: DaemonSetFinding, { daemonSet: { record }, nowMs }: Subject): DaemonSetFinding {
  const { entry, isProgressing, sentence } = finding;
  if (isProgressing !== true || !WAITING.includes(entry.outcome)) return finding;
  const sinceMs = Math.min(Date.parse(record?.waitStartTime ?? "") || nowMs, nowMs);
  const waitStartTime = toSeconds(new Date(sinceMs));
  const waiting = { ...finding, entry: { ...entry, waitStartTime } };
  // What is planned is about to happen, unless something hinders the write.
  const isHeld = entry.outcome === "Waiting" || record?.hindrance !== undefined;
  if (!isHeld || nowMs - sinceMs < STALLED_AFTER_MS) return waiting;
  const reason = "Waiting";
  return {
    ...waiting,
    reason,
    sentence: `${sentence} Waiting since ${waitStartTime}.`,
    isStalled: true,
    isProgressing: false,
  };
}
