import type { TargetStatus } from "../../api/controller-resilience";
import type { Assessment } from "./assessment";
import type { WorkloadState } from "./candidates";
import { describeTime } from "./wording";

// No wait is for ever: a workload that waits for something that may never happen becomes Stalled. Pure.

/** A person must act after this long without progress. */
const STALLED_AFTER_MS = 3_600_000;

/** Returns when the workload began to wait, as in status; undefined if it does not wait. An executed restart begins a new wait. */
export function waitingSince({ previous, history, now }: WorkloadState, { waitHint }: Assessment): Date | undefined {
  if (waitHint === undefined) return undefined;
  const before = Date.parse(previous?.waitStartTime ?? "");
  const executed = history.filter(({ outcome }) => outcome !== "Requested");
  const lastRestart = Math.max(...executed.map(({ time }) => Date.parse(time)).filter(ms => ms <= now.getTime()));
  return new Date(Math.max(Number.isNaN(before) ? now.getTime() : before, lastRestart));
}

/** Returns the assessment as Stalled if the workload has waited for too long. */
export function withPatience(state: WorkloadState, assessment: Assessment): Assessment {
  const since = waitingSince(state, assessment);
  if (since === undefined || state.now.getTime() - since.getTime() < STALLED_AFTER_MS) return assessment;
  const { waitHint = "", sentence } = assessment;
  const hint = `Waiting since ${describeTime(since.getTime()) ?? "an unknown time"}: ${waitHint}.`;
  return { ...assessment, sentence: `${sentence} ${hint}`, isStalled: true, isProgressing: false };
}

/** The field of status.targets. */
export function waitingStatus(state: WorkloadState, assessment: Assessment): Pick<TargetStatus, "waitStartTime"> {
  const since = describeTime(waitingSince(state, assessment)?.getTime() ?? NaN);
  return since === undefined ? {} : { waitStartTime: since };
}
