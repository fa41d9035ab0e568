import { ConditionType, Reason } from "../api/conditions";
import type { ConditionUpdate } from "../core/conditions";
import type { Decision } from "../core/remedy";

/** A remedy's condition and the decision behind it. */
export interface Verdict {
  readonly condition: ConditionType;
  readonly decision: Decision;
}

/**
 * All conditions of an object: Ready, then one for each remedy that is on, then Reconciling and Stalled.
 *
 * Reconciling and Stalled are always written, False when there is nothing abnormal: kstatus reads False as it reads absence,
 * `kubectl wait --for=condition=Stalled=false` works from the first pass on, and the moment when it ended stays readable.
 * As kstatus and Flux want it, they are never True together: with both, tools disagree on which one counts.
 */
export function conditionUpdates(verdicts: readonly Verdict[], suspended: boolean): ConditionUpdate[] {
  const own = verdicts.map(({ condition, decision }) => ({
    type: condition,
    status: decision.status,
    reason: decision.reason,
    message: decision.message,
  }));
  if (suspended) return [suspendedUpdate(ConditionType.Ready, "Unknown"), ...own, ...suspendedPair()];
  const stalled = stalledUpdate(verdicts);
  return [readyUpdate(own), ...own, reconcilingUpdate(verdicts, stalled.status === "True"), stalled];
}

/** False if one is False, with the reason of the first; else Unknown if one is Unknown; else True. */
export function readyUpdate(remedies: readonly ConditionUpdate[]): ConditionUpdate {
  const type = ConditionType.Ready;
  if (remedies.length === 0) {
    // Nothing was asked for, and nothing is left to be done: that holds, and lets a GitOps tool go on.
    const message = "No remedy is on: this object protects nothing until its spec has a remedy's block.";
    return { type, status: "True", reason: Reason.NoRemedies, message };
  }
  for (const status of ["False", "Unknown"] as const) {
    const first = remedies.find(update => update.status === status);
    if (first) return { type, status, reason: first.reason, message: first.message };
  }
  return { type, status: "True", reason: Reason.AllHold, message: "Every remedy that is on holds." };
}

function stalledUpdate(verdicts: readonly Verdict[]): ConditionUpdate {
  const type = ConditionType.Stalled;
  const first = verdicts.find(({ decision }) => decision.stalled)?.decision.stalled;
  if (first) return { type, status: "True", reason: first.reason, message: first.message };
  return { type, status: "False", reason: Reason.Idle, message: "Nobody is needed." };
}

function reconcilingUpdate(verdicts: readonly Verdict[], isStalled: boolean): ConditionUpdate {
  const type = ConditionType.Reconciling;
  const first = verdicts.find(({ decision }) => decision.progressing);
  if (first && !isStalled) {
    return { type, status: "True", reason: Reason.Progressing, message: first.decision.message };
  }
  return { type, status: "False", reason: Reason.Idle, message: "Nothing is under way." };
}

function suspendedPair(): ConditionUpdate[] {
  return [suspendedUpdate(ConditionType.Reconciling, "False"), suspendedUpdate(ConditionType.Stalled, "False")];
}

/** What every condition says while spec.suspend is true. */
export function suspendedUpdate(type: ConditionType, status: "Unknown" | "False"): ConditionUpdate {
  return { type, status, reason: Reason.Suspended, message: SUSPENDED };
}

/** The message of a suspended object's conditions. */
export const SUSPENDED = "spec.suspend is true: no remedy reads, decides or changes anything.";
