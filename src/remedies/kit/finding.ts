import type { Intent } from "../../core/intent";
import type { Problem } from "../../core/errors";
import type { Reasons, Report } from "../../core/remedy";

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

/** Sentences in one message; the status lists have the rest. */
const MAX_SENTENCES = 5;

/**
 * One condition from findings that are sorted worst first; `none` is the finding when there are none.
 *
 * @param rest the sentence about the findings that the message leaves out
 */
export function summarize<Reason extends string>(
  findings: readonly Finding<Reason>[],
  none: Finding<Reason>,
  rest: (count: number) => string,
): Pick<Report<Reason>, "status" | "reason" | "message" | "progressing" | "stalled"> {
  const worst = findings[0] ?? none;
  const stalled = findings.find(({ isStalled }) => isStalled);
  const all = findings.length === 0 ? [none] : findings;
  return {
    status: worst.status,
    reason: worst.reason,
    message: joinSentences(
      all.map(({ sentence }) => sentence),
      rest,
    ),
    progressing: findings.some(({ isProgressing }) => isProgressing),
    ...(stalled && { stalled: { reason: stalled.reason, message: stalled.sentence } }),
  };
}

/** The first sentences of a message, and what `rest` says about those that are left out. */
export function joinSentences(sentences: readonly string[], rest: (count: number) => string): string {
  const left = sentences.length - MAX_SENTENCES;
  return [...sentences.slice(0, MAX_SENTENCES), ...(left > 0 ? [rest(left)] : [])].join(" ");
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
