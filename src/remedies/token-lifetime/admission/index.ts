import type { Intent } from "../../../core/intent";
import type { Assessment } from "../assessment";
import type { Spec, TokenLifetimeFacts } from "../facts";
import { assessAdmission } from "./assess";
import { caseOf } from "./case";
import { removeObsolete } from "./obsolete";

export { isReleasable } from "./case";
export { cleanUpPairs, ownPairs, readLeftovers, readPairs, removeObsolete, withKnownPair } from "./obsolete";
export { settleReplacements } from "./outcomes";

/** What there is to say and to do about each DaemonSet, and the pairs that are not needed any more. Pure and total. */
export function decideAdmission(
  facts: TokenLifetimeFacts,
  spec: Spec,
  nowMs: number,
): { assessments: readonly Assessment[]; obsolete: readonly Intent[] } {
  const cases = facts.daemonSets.map(own => caseOf(own, facts, spec, nowMs));
  return { assessments: cases.map(assessAdmission), obsolete: removeObsolete(cases, facts) };
}
