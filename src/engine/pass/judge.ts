import { Reason } from "../../api/conditions";
import type { ControllerResilience } from "../../api/controller-resilience";
import { ForbiddenError, framesOf, publicMessage } from "../../core/errors";
import type { Log } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { Decision, Remedy } from "../../core/remedy";
import { retryAfter, type Retry } from "../../core/retry";
import { inSlices, type Steps } from "../../core/slices";
import { withDeadline } from "../../core/deadline";
import { checkedDecision } from "./decision";

/** What a remedy makes of an object in one pass. */
export interface Judgement {
  readonly decision: Decision;
  readonly retry?: Retry;
}

/** Longest time that a remedy may take to read. */
export const OBSERVE_DEADLINE_MS = 45_000;

/** Lets a remedy observe and decide. Never throws: what goes wrong ends in this remedy's condition, without intents. */
export async function judge(
  remedy: Remedy,
  object: ControllerResilience,
  readers: Readers,
  log: Log,
): Promise<Judgement> {
  // Only remedies whose block is present are asked.
  const spec = object.spec[remedy.key] ?? ({} as never);
  let facts: unknown;
  try {
    const what = `observe of ${remedy.name}`;
    facts = await withDeadline(readers.clock, OBSERVE_DEADLINE_MS, what, () => remedy.observe(object, spec, readers));
  } catch (error) {
    log.warn({ remedy: remedy.name, error: publicMessage(error), stack: framesOf(error) }, "observe failed");
    return observeFailed(error);
  }
  try {
    return { decision: await inSlices(readers.clock, decideInSteps(remedy, facts, spec, readers.clock.now())) };
  } catch (error) {
    return decideFailed(remedy, error, log);
  }
}

/** What follows a long decision is long as well. */
function* decideInSteps(remedy: Remedy, ...given: Parameters<Remedy["decide"]>): Steps<Decision> {
  const decision = remedy.decideInSteps ? yield* remedy.decideInSteps(...given) : remedy.decide(...given);
  yield;
  const checked = checkedDecision(decision);
  yield;
  return checked;
}

/** A remedy's bug: told to the log with its stack, and to the condition. */
export function decideFailed(remedy: Remedy, error: unknown, log: Log): Judgement {
  log.error({ remedy: remedy.name, error: publicMessage(error), stack: framesOf(error) }, "decide failed: a bug");
  const message = `${remedy.name} failed on what it read, which is a bug; the operator's log has the details. Nothing is done.`;
  return { decision: { status: "Unknown", reason: Reason.DecideFailed, message, intents: [] } };
}

function observeFailed(error: unknown): Judgement {
  const reason = error instanceof ForbiddenError ? Reason.Forbidden : Reason.ObserveFailed;
  const message = `Nothing is done while something can't be read: ${publicMessage(error)}.`;
  const decision: Decision = { status: "Unknown", reason, message, intents: [] };
  const retry = retryAfter(error);
  // Nothing but a person's change makes a terminal error go away.
  return retry ? { decision, retry } : { decision: { ...decision, stalled: { reason, message } } };
}
