import type { Intent } from "../../core/intent";
import type { Problem } from "../../core/errors";

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
