import { pairsOf } from "./cleanup";
import { needsPolicy, type AdmissionSubject } from "./subject";

/** Policies of one ControllerResilience: each is cluster-scoped, and a selector can match any number of DaemonSets. */
export const MAX_POLICIES = 32;

/** Marks the DaemonSets that are too many. Those with a policy keep it; the others get one in the order of their names. */
export function markSurplus(subjects: readonly AdmissionSubject[]): AdmissionSubject[] {
  const have = subjects.filter(hasPolicy).length;
  const names = subjects
    .filter(subject => !hasPolicy(subject) && needsPolicy(subject))
    .map(({ daemonSet }) => daemonSet.view.name)
    .toSorted();
  const surplus = new Set(names.slice(Math.max(0, MAX_POLICIES - have)));
  return subjects.map(subject => ({ ...subject, isSurplus: surplus.has(subject.daemonSet.view.name) }));
}

function hasPolicy({ daemonSet, observed }: AdmissionSubject): boolean {
  return pairsOf(daemonSet.view.name, observed).length > 0;
}
