import type { ControllerResilience } from "../../api/controller-resilience";
import { FINALIZER } from "../../api/names";
import { ForbiddenError, publicMessage } from "../../core/errors";
import type { Execution, Intent } from "../../core/intent";
import type { Mode, Remedy, Report } from "../../core/remedy";
import type { Readers } from "../../core/readers";
import { withDeadline } from "../../core/time";
import type { ExecutionScope, Executor } from "../write/executor";
import { LiveReadsNeeded, type ObjectSession } from "../object/object-session";
import { OBSERVE_DEADLINE_MS, type RemedyPass, withReport } from "./remedy-pass";
import { type RequeueRequest, requeueOf } from "../loop/requeue";

/** Next check after a deletion, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;

/** Result of one check for leftovers. */
export interface CleanupResult {
  readonly executions: readonly Execution[];
  /** Every remedy was asked, and none has anything left to delete. */
  readonly isDone: boolean;
  /** When to check again. */
  readonly requeues: readonly RequeueRequest[];
  /** A sentence about what could not be read. */
  readonly problem?: string;
}

// Deletes what was made outside of an object's namespace, where owner references do not work. The finalizer is added before the first such write
// and removed when nothing is left, so neither a crash nor a deleted namespace leaves anything behind.

/**
 * Puts the finalizer on the object if a plan needs it, also where it was removed. Without the right to do so, those remedies write nothing.
 *
 * @throws the store's errors, except for the missing right
 */
export async function hold(
  session: ObjectSession,
  mode: Mode,
  passes: readonly RemedyPass[],
): Promise<readonly RemedyPass[]> {
  const { object } = session;
  const isWriting = mode === "Enforce" && !object.spec.suspend;
  const needing = passes.filter(({ plan }) => plan.needsCleanup === true);
  if (!isWriting || hasFinalizer(object) || needing.length === 0) return passes;
  try {
    await session.setFinalizer(true);
    return passes;
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    return passes.map(pass => (needing.includes(pass) ? withoutRight(pass, error) : pass));
  }
}

/** What a cleanup works with. */
interface CleanupPorts {
  readonly remedies: readonly Remedy[];
  readonly executor: Executor;
  readonly readers: Readers;
}

/**
 * Deletes what was made for an object that is being deleted, or by remedies without a block. Also in Observe mode: removing a block means ending
 * its effects, and only objects that the operator made are changed. A suspended object waits, unless it is being deleted.
 *
 * @throws LiveReadsNeeded
 */
export async function sweep(
  object: ControllerResilience,
  scope: ExecutionScope,
  ports: CleanupPorts,
): Promise<CleanupResult> {
  const isDeleting = object.metadata.deletionTimestamp !== undefined;
  if (!hasFinalizer(object) || (object.spec.suspend && !isDeleting))
    return { executions: [], isDone: false, requeues: [] };
  const executions: Execution[] = [];
  const requeues: RequeueRequest[] = [];
  let problem: string | undefined;
  for (const remedy of ports.remedies.filter(({ block }) => isDeleting || object.spec[block] === undefined)) {
    try {
      executions.push(...(await cleanUp(remedy, object, { ...scope, isCleanup: true }, ports)));
    } catch (error) {
      if (error instanceof LiveReadsNeeded) throw error;
      problem = `Failed to check for leftovers of ${remedy.name}: ${publicMessage(error)}.`;
      scope.log.warn({ remedy: remedy.name, error: publicMessage(error) }, "failed to check for leftovers");
      requeues.push(requeueOf(error));
    }
  }
  const isChanged = executions.some(({ outcome }) => outcome.result === "Executed");
  if (isChanged) requeues.push({ recheckAfterMs: LOOK_AGAIN_MS });
  const isDone = executions.length === 0 && problem === undefined;
  return { executions, isDone, requeues, ...(problem === undefined ? {} : { problem }) };
}

async function cleanUp(
  remedy: Remedy,
  object: ControllerResilience,
  scope: ExecutionScope,
  { executor, readers }: CleanupPorts,
): Promise<Execution[]> {
  const what = `checking for leftovers of ${remedy.name}`;
  const read = async (): Promise<readonly Intent[]> => (await remedy.cleanUp?.(object, readers)) ?? [];
  const intents = await withDeadline(readers.clock, OBSERVE_DEADLINE_MS, what, read);
  const outcomes = await executor.executeAll(remedy, [{ id: "cleanup", intents }], scope);
  return [...outcomes.values()].flat();
}

/** Removes the finalizer if no plan needs it and nothing is left of other remedies. @throws the store's errors */
export async function release(
  session: ObjectSession,
  passes: readonly Reported[],
  swept: CleanupResult,
): Promise<void> {
  const holds = ({ remedy, plan, reported: { status }, isBlind }: Reported): boolean =>
    // What is unknown may well exist.
    remedy.cleanUp !== undefined && (plan.needsCleanup === true || isBlind === true || status === "Unknown");
  if (!hasFinalizer(session.object) || !swept.isDone || passes.some(holds)) return;
  await session.setFinalizer(false);
}

/** A remedy's part of a pass after its report. */
export interface Reported extends RemedyPass {
  readonly reported: Report;
  /** Reads have failed. */
  readonly isBlind?: boolean;
}

/** Reports whether the object has the operator's finalizer. */
export function hasFinalizer({ metadata }: ControllerResilience): boolean {
  return metadata.finalizers?.includes(FINALIZER) === true;
}

/** The remedy writes nothing; its lists in status stay as planned. */
function withoutRight(pass: RemedyPass, error: ForbiddenError): RemedyPass {
  const message = `No action: the operator cannot put its finalizer on this object: ${error.message}.`;
  const report = async (): Promise<Report> => {
    const { lists } = await pass.report(new Map());
    const stalled = { reason: "Forbidden", message };
    return { status: "Unknown", reason: "Forbidden", message, stalled, ...(lists && { lists }) };
  };
  return {
    ...withReport(pass.remedy, { status: "Unknown", reason: "Forbidden", message }),
    plan: { ...pass.plan, items: [] },
    report,
  };
}
