import type { DaemonSetStatus } from "../../../api/controller-resilience";
import { toSeconds } from "../../../core/time";
import { appliedMs, type Subject } from "../subject";

// How long a trial waits for its proof. Pure.

/** Each new leader waits again, since it does not know what it missed; but OnDelete holds up the owner's updates meanwhile. */
const MAX_WAITS = 5;

/** Since when the trial waits for its proof, for status. */
export type Wait = Required<Pick<DaemonSetStatus, "waitStartTime" | "trialWaits">>;

/** The present wait: from the change of the template on, or from when this leader, or an object that was suspended, went on. */
export function waitOf(subject: Subject): Wait {
  const { record, watchedSinceMs = -Infinity } = subject.daemonSet;
  const recordedMs = Math.max(appliedMs(subject), Date.parse(record?.waitStartTime ?? "") || 0);
  const { trialWaits = 1 } = record ?? {};
  // Status has whole seconds.
  const isNew = watchedSinceMs >= recordedMs + 1_000 && trialWaits < MAX_WAITS;
  const startMs = isNew ? watchedSinceMs : recordedMs;
  return { waitStartTime: toSeconds(new Date(startMs)), trialWaits: isNew ? trialWaits + 1 : trialWaits };
}
