import { ConditionType } from "../../api/conditions";
import type { ConditionUpdate } from "../../core/conditions";
import type { Execution } from "../../core/intent";
import type { Report } from "../../core/remedy";
import type { CleanupResult } from "./cleanup";

/** The report of one remedy, with the type of its condition. */
export interface RemedyReport {
  readonly condition: string;
  readonly report: Report;
}

/**
 * All conditions of an object: Ready, then one for each remedy that is on, then Reconciling and Stalled.
 *
 * Reconciling and Stalled are always written, False when there is nothing abnormal: kstatus reads False as it reads absence,
 * `kubectl wait --for=condition=Stalled=false` works from the first pass on, and the moment when it ended stays readable.
 * As kstatus and Flux want it, they are never True together: with both, tools disagree on which one counts.
 */
export function conditionUpdates(
  reports: readonly RemedyReport[],
  suspended: boolean,
  leftovers?: Leftovers,
): ConditionUpdate[] {
  const own = reports.map(({ condition, report }) => ({
    type: condition,
    status: report.status,
    reason: report.reason,
    message: report.message,
  }));
  if (suspended) return [suspendedUpdate(ConditionType.Ready, "Unknown"), ...own, ...suspendedPair()];
  const obstacle = leftovers && obstacleOf(leftovers);
  const stalled =
    obstacle === undefined ? stalledUpdate(reports) : leftoverUpdate(ConditionType.Stalled, "True", obstacle);
  const ready = obstacle === undefined ? readyUpdate(own) : leftoverUpdate(ConditionType.Ready, "False", obstacle);
  return [ready, ...own, reconcilingUpdate(reports, stalled.status === "True"), stalled];
}

/** False if one is False, with the reason of the first; else Unknown if one is Unknown; else True. */
export function readyUpdate(remedies: readonly ConditionUpdate[]): ConditionUpdate {
  const type = ConditionType.Ready;
  if (remedies.length === 0) {
    // Nothing was asked for, and nothing is left to be done: that holds, and lets a GitOps tool go on.
    const message = "No remedy is on: this object protects nothing until its spec has a remedy's block.";
    return { type, status: "True", reason: "NoRemedies", message };
  }
  for (const status of ["False", "Unknown"] as const) {
    const first = remedies.find(update => update.status === status);
    if (first) return { type, status, reason: first.reason, message: first.message };
  }
  return { type, status: "True", reason: "AllHold", message: "Every remedy that is on holds." };
}

function stalledUpdate(reports: readonly RemedyReport[]): ConditionUpdate {
  const type = ConditionType.Stalled;
  const first = reports.find(({ report }) => report.stalled)?.report.stalled;
  if (first) return { type, status: "True", reason: first.reason, message: first.message };
  return notSo(type, "Nobody is needed.");
}

function reconcilingUpdate(reports: readonly RemedyReport[], isStalled: boolean): ConditionUpdate {
  const type = ConditionType.Reconciling;
  const first = reports.find(({ report }) => report.progressing);
  if (first && !isStalled) {
    return { type, status: "True", reason: "Progressing", message: first.report.message };
  }
  return notSo(type, "Nothing is under way.");
}

/** What came of taking away what was made. */
type Leftovers = Pick<CleanupResult, "executions" | "problem">;

/** Why something that was made is still there, where that is not the way of things. */
function obstacleOf({ executions, problem }: Leftovers): string | undefined {
  const failed = executions.find(({ outcome }) => "message" in outcome);
  return problem ?? (failed && describeFailure(failed));
}

function leftoverUpdate(type: string, status: "True" | "False", obstacle: string): ConditionUpdate {
  const message = `Something is left of a block that is not in the spec any more. ${obstacle}`;
  return { type, status, reason: "CleaningUp", message };
}

/** What is said of an object that goes, while not everything that was made for it is gone. */
export function goingUpdates(leftovers: Leftovers): ConditionUpdate[] {
  const obstacle = obstacleOf(leftovers);
  const message = `The object goes as soon as what was made for it is gone.${obstacle === undefined ? "" : ` ${obstacle}`}`;
  const words = { reason: "CleaningUp" as const, message };
  const [busy, stuck] = [ConditionType.Reconciling, ConditionType.Stalled];
  const pair: ConditionUpdate[] =
    obstacle === undefined
      ? [{ type: busy, status: "True", ...words }, notSo(stuck, "Nobody is needed.")]
      : [notSo(busy, "Nothing is under way."), { type: stuck, status: "True", ...words }];
  return [{ type: ConditionType.Ready, status: "False", ...words }, ...pair];
}

function notSo(type: string, message: string): ConditionUpdate {
  return { type, status: "False", reason: "Idle", message };
}

function describeFailure({ intent, outcome }: Execution): string {
  const { verb, target } = intent;
  return `Not done: ${verb} ${target.kind} ${target.name}: ${"message" in outcome ? outcome.message : outcome.result}.`;
}

function suspendedPair(): ConditionUpdate[] {
  return [suspendedUpdate(ConditionType.Reconciling, "False"), suspendedUpdate(ConditionType.Stalled, "False")];
}

/** What every condition says while spec.suspend is true. */
export function suspendedUpdate(type: string, status: "Unknown" | "False"): ConditionUpdate {
  return { type, status, reason: "Suspended", message: SUSPENDED };
}

/** The message of a suspended object's conditions. */
export const SUSPENDED = "spec.suspend is true: no remedy reads, decides or changes anything.";
