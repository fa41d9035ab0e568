import type { StatusCondition } from "../../api/controller-resilience";
import { withDeadline } from "../../core/time";
import { ForbiddenError, framesOf, NotYetError, publicMessage, TerminalError } from "../../core/errors";
import {
  type Decide,
  type ObjectInMode,
  type Outcomes,
  type PendingRestart,
  type Plan,
  type PlannedPass,
  type Remedy,
  type Report,
  explainUnknown,
  unknownValues,
} from "../../core/remedy";
import type { Log } from "../../core/ports";
import type { Readers } from "../../core/readers";
import { inSlices, type Steps } from "../../core/slices";
import { describePending, type Execution } from "../../core/intent";
import { type RequeueRequest, requeueOf } from "../loop/requeue";
import { LASTING_MS } from "../write/write-backoff";

/** Longest time that a remedy may take to read. */
export const OBSERVE_DEADLINE_MS = 45_000;

const NOTHING: Plan = { items: [] };
const NOTHING_EXECUTED: Outcomes = new Map();

/** One remedy's part of a pass, from its plan to its report. */
export interface RemedyPass extends RequeueRequest {
  readonly remedy: Remedy;
  readonly plan: Plan;
  /** Never throws. */
  readonly report: (outcomes: Outcomes) => Promise<Report>;
}

/** What one remedy's part works with. */
export interface RemedyPassPorts {
  readonly readers: Readers;
  readonly log: Log;
  readonly pending: readonly PendingRestart[];
}

/**
 * Lets a remedy observe and plan. A failure becomes this remedy's condition, with an empty plan.
 *
 * @throws NotYetError of the remedy, and nothing else
 */
export async function observeAndPlan(
  remedy: Remedy,
  object: ObjectInMode,
  ports: RemedyPassPorts,
): Promise<RemedyPass> {
  const { clock } = ports.readers;
  const unknown = unknownValues(object.spec, remedy.block, remedy.handled);
  if (unknown.length > 0) return notUnderstood(remedy, unknown, object);
  let decide: Decide;
  try {
    const what = `reading for ${remedy.name}`;
    decide = await withDeadline(clock, OBSERVE_DEADLINE_MS, what, () => remedy.observe(object, ports.readers));
  } catch (error) {
    if (error instanceof NotYetError) throw error;
    ports.log.warn({ remedy: remedy.name, error: publicMessage(error), stack: framesOf(error) }, "observe failed");
    return observeFailed(remedy, error);
  }
  try {
    const planned = await inSlices(clock, checked(remedy, decide(clock.now(), ports.pending), clock.now()));
    return { remedy, plan: planned.plan, report: outcomes => reportOn(remedy, planned, outcomes, ports) };
  } catch (error) {
    return withReport(remedy, bugReport(remedy, error, ports.log));
  }
}

/** Unknown means no action, also of a value that only another version knows. */
function notUnderstood(remedy: Remedy, unknown: readonly string[], object: ObjectInMode): RemedyPass {
  const message = [`No action: ${explainUnknown(unknown)}`, remedy.whileSuspended?.(object)].filter(Boolean).join(" ");
  return withReport(remedy, stalledBy("ObserveFailed", message));
}

/** A remedy's part with an empty plan and this report. */
export function withReport(remedy: Remedy, report: Report): RemedyPass {
  return { remedy, plan: NOTHING, report: () => Promise.resolve(report) };
}

/** Unknown means no action: a plan that would report Unknown and still write is a bug of its remedy. */
function* checked(remedy: Remedy, steps: Steps<PlannedPass>, now: Date): Steps<PlannedPass> {
  const planned = yield* steps;
  yield;
  const { items } = planned.plan;
  if (new Set(items.map(({ id }) => id)).size !== items.length) {
    throw new TypeError(`expected another id for each item in the plan of ${remedy.name}`);
  }
  const isWriting = items.some(({ intents }) => intents.length > 0);
  if (isWriting && planned.report(NOTHING_EXECUTED, now).status === "Unknown") {
    throw new TypeError(`expected no intents of ${remedy.name} while its condition is Unknown`);
  }
  yield;
  return planned;
}

async function reportOn(
  remedy: Remedy,
  planned: PlannedPass,
  outcomes: Outcomes,
  { readers, log }: RemedyPassPorts,
): Promise<Report> {
  try {
    return await inSlices(readers.clock, reportSteps(planned, outcomes, readers.clock.now()));
  } catch (error) {
    return bugReport(remedy, error, log);
  }
}

/** Yields before and after: the report of a long plan is long as well. */
function* reportSteps(planned: PlannedPass, outcomes: Outcomes, now: Date): Steps<Report> {
  yield;
  const report = planned.report(outcomes, now);
  yield;
  return report;
}

function bugReport(remedy: Remedy, error: unknown, log: Log): Report {
  log.error({ remedy: remedy.name, error: publicMessage(error), stack: framesOf(error) }, "remedy failed: a bug");
  const message = `${remedy.name} failed on what it read: this is a bug. It does nothing; see the operator's log.`;
  return { status: "Unknown", reason: "DecideFailed", message };
}

/** What may have lasted for too long. */
interface Lasting {
  /** The condition that was read. */
  readonly known: StatusCondition | undefined;
  /** A write that has failed for an hour. */
  readonly failing: Execution | undefined;
  readonly now: Date;
}

/**
 * A remedy is Stalled if its condition has been Unknown for an hour, by status, which outlives the leader, or if one of its writes has failed for
 * an hour, whatever the reason.
 */
export function withPatience(report: Report, lasting: Lasting): Report {
  const message = report.stalled === undefined ? whyStalled(report, lasting) : undefined;
  return message === undefined ? report : { ...report, stalled: { reason: report.reason, message } };
}

function whyStalled({ status, reason, message, progressing = false }: Report, { known, failing, now }: Lasting) {
  if (failing !== undefined) return `${describePending(failing)}; it has failed for an hour, and is tried again.`;
  const isUnknown = status === "Unknown" && known?.status === "Unknown" && known.reason !== "Suspended";
  if (!isUnknown || progressing) return undefined;
  if (now.getTime() - Date.parse(known.lastTransitionTime) < LASTING_MS) return undefined;
  const wayOut =
    reason === "ObserveFailed" ? ": see the operator's log. For a slow API server, set --watch-namespaces" : "";
  return `${message} It has been Unknown for an hour${wayOut}.`;
}

function observeFailed(remedy: Remedy, error: unknown): RemedyPass {
  const reason = error instanceof ForbiddenError ? "Forbidden" : "ObserveFailed";
  const message = `No action until reads succeed: ${publicMessage(error)}.`;
  // Only a person's change ends a terminal error.
  if (error instanceof TerminalError) return withReport(remedy, stalledBy(reason, message));
  return { ...withReport(remedy, { status: "Unknown", reason, message }), ...requeueOf(error) };
}

/** Only a person can end this. */
function stalledBy(reason: string, message: string): Report {
  return { status: "Unknown", reason, message, stalled: { reason, message } };
}
