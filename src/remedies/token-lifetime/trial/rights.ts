import type { Readers, Right } from "../../../core/readers";
import type { DaemonSetFinding } from "../finding";
import type { ObservedDaemonSet, Spec } from "../observed";
import { entryOf, nameOf, type Subject } from "../subject";
import { needsProof } from "./first-pod";
import { needsTrial } from "./strategy";

// A right that is missed in the middle of a trial leaves the DaemonSet with updateStrategy OnDelete, so rights are checked before.

/** Adds the rights that the operator lacks for a trial that is about to begin. */
export async function withTrialRights(
  daemonSet: ObservedDaemonSet,
  spec: Spec,
  readers: Pick<Readers, "may">,
): Promise<ObservedDaemonSet> {
  const rights = rightsFor(daemonSet, spec);
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  const missingRights = rights.filter((_, index) => answers[index] !== true);
  return missingRights.length === 0 ? daemonSet : { ...daemonSet, missingRights };
}

function rightsFor(daemonSet: ObservedDaemonSet, spec: Spec): readonly Right[] {
  const { namespace } = daemonSet.view;
  const eviction: Right = { apiGroup: "", resource: "pods/eviction", verb: "create", namespace };
  return needsProof({ daemonSet, spec }) ? [eviction, { apiGroup: "", resource: "pods", verb: "list" }] : [eviction];
}

/** The operator could not finish a trial, so it begins none. */
export function lacksRights(subject: Subject): DaemonSetFinding | undefined {
  const missing = subject.daemonSet.missingRights ?? [];
  if (missing.length === 0 || !needsTrial(subject)) return undefined;
  const isList = missing.some(({ verb }) => verb === "list");
  const wayOut = isList ? "grant that, or set allowNodeAgents: true" : "grant that";
  const message = `the operator may not ${missing.map(describe).join(" and ")}; ${wayOut}`;
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
