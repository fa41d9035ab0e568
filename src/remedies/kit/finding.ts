import { describePending, type Execution, type Intent, pendingWrites } from "../../core/intent";
import type { Problem } from "../../core/errors";
import type { Reasons, Report } from "../../core/remedy";
import { count } from "../../core/text";

/** What there is to report about one subject, such as a workload, a binding or a flow, and what to write for it. */
export interface Finding<Reason extends string> {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  /** One or two sentences for people, without times that change from pass to pass: each change writes status. */
  readonly sentence: string;
  readonly intents?: readonly Intent[];
  /** A person has to act. */
  readonly isStalled?: boolean;
  /** The sentence says more than that all is well. */
  readonly isNotable?: boolean;
  /** The remedy goes on by itself. */
  readonly isProgressing?: boolean;
}

/** A target that no object in the cluster matches. */
export function targetNotFound(target: string): Finding<"TargetNotFound"> {
  return { status: "False", reason: "TargetNotFound", sentence: `Target not found: ${target}.` };
}

/** A read that failed; a missing right needs a person. */
export function observationIncomplete(problem: Problem): Finding<"Forbidden" | "ObserveFailed"> {
  const { forbidden, message, isLasting = forbidden } = problem;
  const sentence = `Observation incomplete: ${message}.`;
  return { status: "Unknown", reason: forbidden ? "Forbidden" : "ObserveFailed", sentence, isStalled: isLasting };
}

/** What a remedy says of its workloads. */
export interface WorkloadWords<Reason extends string> {
  /** Without a workload. */
  readonly none: Finding<Reason>;
  /** The end of a sentence about several workloads of which there is nothing to tell. */
  readonly calm: string;
  /** The list of status that has what the message leaves out. */
  readonly list: string;
}

/** One condition for workloads, with the findings about each, and for what was not found or not read. Calm workloads are only counted. */
export function summarizeWorkloads<Reason extends string>(
  reasons: Reasons<Reason>,
  workloads: readonly { readonly pods: number; readonly findings: readonly Finding<Reason>[] }[],
  others: readonly Finding<Reason>[],
  { none, calm, list }: WorkloadWords<Reason>,
): Pick<Report<Reason>, "status" | "reason" | "message" | "progressing" | "stalled"> {
  const findings = worstFirst(reasons, [...workloads.flatMap(one => one.findings), ...others]);
  const notable = findings.filter(({ status, isNotable }) => status !== "True" || isNotable === true);
  const stalled = findings.filter(({ isStalled }) => isStalled);
  const summary = {
    ...summarize(findings, none, list),
    ...(stalled[0] && { stalled: { reason: stalled[0].reason, message: joinSentences(stalled, list) } }),
  };
  if (notable.length > 0) {
    const worst = workloads.flatMap(one => worstFirst(reasons, one.findings).slice(0, 1));
    return {
      ...summary,
      message: [joinSentences(notable, list), ...describeCounts(worstFirst(reasons, worst))].join(" "),
    };
  }
  if (workloads.length < 2) return summary;
  const pods = workloads.reduce((sum, one) => sum + one.pods, 0);
  return { ...summary, message: `${workloads.length} workloads (${count(pods, "pod")}): ${calm}` };
}

/** How many workloads have which reason; nothing if all have the same. */
function describeCounts(workloads: readonly Finding<string>[]): string[] {
  const reasons = [...new Set(workloads.map(({ reason }) => reason))];
  if (reasons.length < 2) return [];
  const counts = reasons.map(reason => `${workloads.filter(one => one.reason === reason).length} ${reason}`);
  return [`Of ${workloads.length} workloads: ${counts.join(", ")}.`];
}

/** Sentences in one message; the status lists have the rest. */
const MAX_SENTENCES = 5;

/**
 * One condition from findings that are sorted worst first; `none` is the finding when there are none. `list` is that of status with what the message
 * leaves out.
 */
export function summarize<Reason extends string>(
  findings: readonly Finding<Reason>[],
  none: Finding<Reason>,
  list: string,
): Pick<Report<Reason>, "status" | "reason" | "message" | "progressing" | "stalled"> {
  const worst = findings[0] ?? none;
  const stalled = findings.find(({ isStalled }) => isStalled);
  return {
    status: worst.status,
    reason: worst.reason,
    message: joinSentences(findings.length === 0 ? [none] : findings, list),
    progressing: findings.some(({ isProgressing }) => isProgressing),
    ...(stalled && { stalled: { reason: stalled.reason, message: stalled.sentence } }),
  };
}

/** The first sentences of a message, and where the others are. */
function joinSentences(findings: readonly Finding<string>[], list: string): string {
  const left = findings.length - MAX_SENTENCES;
  const sentences = findings.slice(0, MAX_SENTENCES).map(({ sentence }) => sentence);
  return [...sentences, ...(left > 0 ? [`Plus ${left} more; see ${list}.`] : [])].join(" ");
}

/** Sorts findings worst first, by the order in which the reasons are declared. Findings of one reason keep their order. */
export function worstFirst<Reason extends string, F extends { readonly reason: Reason }>(
  reasons: Reasons<Reason>,
  findings: readonly F[],
): F[] {
  const rank = new Map(Object.keys(reasons).map((reason, index) => [reason, index]));
  const rankOf = ({ reason }: F): number => rank.get(reason) ?? rank.size;
  return findings.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/**
 * The report with the writes that are still pending. A missing right needs a person, and without it True can not be trusted.
 *
 * @param lasting a reason that stays even then, since what it names does harm now
 */
export function withPending<Reason extends string>(
  report: Report<Reason | "Forbidden">,
  executions: readonly Execution[],
  lasting?: Reason,
): Report<Reason | "Forbidden"> {
  const pending = pendingWrites(executions);
  if (pending.length === 0) return report;
  const rest = pending.length > MAX_SENTENCES ? `; ${pending.length - MAX_SENTENCES} more` : "";
  const message = `${report.message} Pending: ${pending.slice(0, MAX_SENTENCES).map(describePending).join("; ")}${rest}.`;
  if (pending[0]?.outcome.result === "Forbidden" && report.reason !== lasting) {
    const status = report.status === "True" ? "Unknown" : report.status;
    const reason = "Forbidden";
    return { ...report, status, reason, message, progressing: false, stalled: { reason, message } };
  }
  return {
    ...{ ...report, message, progressing: true },
    ...(report.stalled && { stalled: { ...report.stalled, message } }),
  };
}
