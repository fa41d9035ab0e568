import type { Readers, Right } from "../../../core/readers";
import type { DaemonSetFinding } from "../finding";
import type { ObservedDaemonSet } from "../observed";
import { entryOf, isRelease, nameOf, type Subject } from "../subject";
import { isNodeAgent } from "./first-pod";

// A right that is missed in the middle of a trial leaves the DaemonSet with updateStrategy OnDelete, so rights are checked before.

/** Adds the rights that the operator lacks for a trial that is about to begin. */
export async function withTrialRights(
  daemonSet: ObservedDaemonSet,
  readers: Pick<Readers, "may">,
): Promise<ObservedDaemonSet> {
  const rights = rightsFor(daemonSet);
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  const missingRights = rights.filter((_, index) => answers[index] !== true);
  return missingRights.length === 0 ? daemonSet : { ...daemonSet, missingRights };
}

function rightsFor(daemonSet: ObservedDaemonSet): readonly Right[] {
  const { namespace } = daemonSet.view;
  const eviction: Right = { apiGroup: "", resource: "pods/eviction", verb: "create", namespace };
  return isNodeAgent(daemonSet) ? [eviction, { apiGroup: "", resource: "pods", verb: "list" }] : [eviction];
}

/** The operator could not finish a trial, so it begins none. */
export function lacksRights(subject: Subject): DaemonSetFinding | undefined {
  const missing = subject.daemonSet.missingRights ?? [];
  if (missing.length === 0 || isRelease(subject)) return undefined;
  const message = `the operator may not ${missing.map(describe).join(" and ")}; grant that`;
  return {
    status: "False",
    reason: "Waiting",
    sentence: `${nameOf(subject)} unchanged: the operator lacks a right for the trial on one node.`,
    entry: { ...entryOf(subject, "Waiting"), hindrance: { reason: "Forbidden", message } },
    isStalled: true,
  };
}

function describe({ verb, resource, namespace }: Right): string {
  return `${verb} ${resource} ${namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`}`;
}
