import { ConditionType } from "../../api/conditions";
import { type ConditionUpdate, notReady, progressUpdates } from "../../core/status";
import { describePending } from "../../core/intent";
import { whyObserved, type Mode, type Report } from "../../core/remedy";
import type { CleanupResult } from "./cleanup";
import type { ControllerResilience } from "../../api/controller-resilience";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/time";
import { ForbiddenError } from "../../core/errors";
import type { Readers } from "../../core/readers";

/** All conditions of an object: Ready, then one per active remedy, then Reconciling and Stalled. */
export function conditionUpdates(
  reports: readonly { readonly condition: string; readonly report: Report }[],
  { suspended, mode }: { readonly suspended: boolean; readonly mode: Mode },
  swept?: CleanupResult,
): ConditionUpdate[] {
  const own = reports.map(({ condition: type, report: { status, reason, message } }) => ({
    ...{ type, status, reason, message },
  }));
  if (suspended) {
    const calm = [ConditionType.Reconciling, ConditionType.Stalled].map(type => suspendedUpdate(type, "False"));
    return [suspendedUpdate(ConditionType.Ready, "Unknown"), ...own, ...calm];
  }
  const left = swept && blockerOf(swept);
  const message = `Cleanup of a removed block is blocked. ${left ?? ""}`;
  const blocker = left === undefined ? undefined : { reason: "CleaningUp", message };
  const ready = blocker === undefined ? readyUpdate(own) : notReady(blocker);
  const busy = reports.find(({ report }) => report.progressing)?.report;
  const progress = busy && { reason: "Progressing", message: busy.message };
  const stalled = blocker ?? reports.find(({ report }) => report.stalled)?.report.stalled;
  return [withMode(ready, mode), ...own, ...progressUpdates(progress, stalled)];
}

/** Says what wins over `spec.mode`. */
function withMode(ready: ConditionUpdate, mode: Mode): ConditionUpdate {
  if (mode === "Enforce" || mode === "Observe") return ready;
  return { ...ready, message: `${ready.message} Only observed: ${whyObserved(mode)}.` };
}

/** False if any remedy reports False, with the reason of the first; else Unknown if any is Unknown; else True. */
function readyUpdate(remedies: readonly ConditionUpdate[]): ConditionUpdate {
  const type = ConditionType.Ready;
  if (remedies.length === 0) {
    // True, so that a GitOps tool can continue with an object that asks for nothing.
    const message = "No remedy is configured: add a remedy block to the spec, such as tokenRestart.";
    return { type, status: "True", reason: "NothingToDo", message };
  }
  for (const status of ["False", "Unknown"] as const) {
    const first = remedies.find(update => update.status === status);
    if (first) return { type, status, reason: first.reason, message: first.message };
  }
  return { type, status: "True", reason: "AllHold", message: "All remedies report True." };
}

/** Why the cleanup is not done, if something blocks it. */
function blockerOf({ executions, problem }: CleanupResult): string | undefined {
  const failed = executions.find(({ outcome }) => "message" in outcome);
  return problem ?? (failed && `Failed to ${describePending(failed)}.`);
}

/** Conditions of an object that is being deleted, while objects made for it still exist. */
export function deletionUpdates(swept: CleanupResult): ConditionUpdate[] {
  const blocker = blockerOf(swept);
  const message = `Deletion is waiting for dependent objects to be removed.${blocker === undefined ? "" : ` ${blocker}`}`;
  const words = { reason: "CleaningUp", message };
  return [notReady(words), ...progressUpdates(words, blocker === undefined ? undefined : words)];
}

/** A condition while spec.suspend is true. */
function suspendedUpdate(type: string, status: "Unknown" | "False"): ConditionUpdate {
  return { type, status, reason: "Suspended", message: SUSPENDED };
}

/** Message of all conditions of a suspended object. */
export const SUSPENDED = "Suspended: spec.suspend is true, so no remedy reads or changes anything.";

/** The operator's own mode, which wins over every object's. */
export type OperatorMode = ControllerResilience["spec"]["mode"];

/**
 * Returns the mode of an object in this pass. Without the right to read its Namespace, the skip annotation there is unknown and counts as
 * absent.
 *
 * @throws any other error of the reader
 */
export async function passMode(
  { spec, metadata: { namespace } }: ControllerResilience,
  operatorMode: OperatorMode,
  readers: Pick<Readers, "clock" | "namespace">,
): Promise<Mode> {
  if (operatorMode === "Observe") return "OperatorObserves";
  // After a rollback it may be one that only the later version knows, and unknown means no action.
  if (spec.mode !== "Enforce") return "Observe";
  if (spec.suspend) return spec.mode;
  try {
    const what = "reading the Namespace";
    const view = await withDeadline(readers.clock, STORE_DEADLINE_MS, what, () => readers.namespace(namespace));
    return view?.skip === true ? "NamespaceSkipped" : "Enforce";
  } catch (error) {
    if (error instanceof ForbiddenError) return "Enforce";
    throw error;
  }
}
