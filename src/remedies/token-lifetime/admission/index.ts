import type { Intent } from "../../../core/intent";
import type { DaemonSetFinding } from "../finding";
import type { Observed, Spec } from "../observed";
import { checkAdmission } from "./checks";
import { removeObsolete } from "./cleanup";
import { markSurplus } from "./limit";
import { admissionSubjectOf } from "./subject";

export {
  cleanUpPolicies,
  ownPoliciesOf,
  readOwnPolicies,
  readPolicies,
  removeObsolete,
  withRecordedPolicy,
} from "./cleanup";
export { settleRestarts } from "./restarts";
export { hasTemplateChange } from "./subject";

/** Checks every DaemonSet with via: Admission, and deletes obsolete policies. Pure. */
export function checkAdmissionSets(
  observed: Observed,
  spec: Spec,
  nowMs: number,
): { findings: readonly DaemonSetFinding[]; removals: readonly Intent[] } {
  const subjects = markSurplus(
    observed.daemonSets.map(daemonSet => admissionSubjectOf(daemonSet, observed, spec, nowMs)),
  );
  return { findings: subjects.map(checkAdmission), removals: removeObsolete(subjects, observed) };
}
