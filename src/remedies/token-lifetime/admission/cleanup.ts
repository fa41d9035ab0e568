import type { ControllerResilience, DaemonSetStatus } from "../../../api/controller-resilience";
import { DAEMON_SET_ANNOTATION } from "../../../api/names";
import { ForbiddenError, TransientError } from "../../../core/errors";
import type { Intent } from "../../../core/intent";
import { isOwnedBy, ownerLabels } from "../../../core/owned";
import type { Readers } from "../../../core/readers";
import type { ClusterObjectView } from "../../../core/views";
import type { Observed, ObservedPolicies } from "../observed";
import { buildRemoval } from "./intents";
import { inEffectMs, needsPolicy, type AdmissionSubject } from "./subject";

/**
 * Reads every policy and binding with these labels; without labels all of the cluster, since a foreign one may have a name that the
 * operator needs. Null if the API server does not serve the kinds.
 */
export async function readPolicies(
  readers: Readers,
  labels?: Readonly<Record<string, string>>,
): Promise<ObservedPolicies | null> {
  const policies = await readers.clusterObjects("MutatingAdmissionPolicy", labels);
  const bindings = await readers.clusterObjects("MutatingAdmissionPolicyBinding", labels);
  return policies === null || bindings === null ? null : { policies, bindings };
}

/**
 * Reads what was created for this ControllerResilience. Without a recorded policy, a missing right to read is no error.
 *
 * @throws TransientError if status records a policy and the API server does not serve the kinds
 */
export async function readOwnPolicies(
  object: ControllerResilience,
  readers: Readers,
): Promise<ObservedPolicies | null> {
  const recorded = object.status?.daemonSets?.find(({ policy }) => policy !== undefined)?.policy;
  const found = await readPolicies(readers, ownerLabels(object)).catch((error: unknown) => {
    if (recorded !== undefined || !(error instanceof ForbiddenError)) throw error;
    return { policies: [], bindings: [] };
  });
  // During an upgrade, or after a downgrade.
  if (found === null && recorded !== undefined) {
    throw new TransientError(
      `failed to read policy ${recorded}: this API server does not serve MutatingAdmissionPolicy; the operator retries until it can delete the policy`,
    );
  }
  return found;
}

/** Keeps the recorded policy in a status entry until the operator has seen that it is gone. */
export function withRecordedPolicy(
  entry: DaemonSetStatus,
  recorded: string | undefined,
  observed: Observed,
): DaemonSetStatus {
  if (entry.policy !== undefined || recorded === undefined) return entry;
  const isGone = observed.admission !== null && pairsOf(entry.name, observed).length === 0;
  return isGone ? entry : { ...entry, policy: recorded };
}

/** The policies and bindings of this ControllerResilience. */
export function ownPoliciesOf({ admission, owner }: Pick<Observed, "admission" | "owner">): ClusterObjectView[] {
  return [...(admission?.policies ?? []), ...(admission?.bindings ?? [])].filter(view => isOwnedBy(view, owner));
}

/** The policies and bindings of one DaemonSet, with any lifetime. */
export function pairsOf(daemonSet: string, observed: Observed): ClusterObjectView[] {
  return ownPoliciesOf(observed).filter(({ annotations }) => annotations[DAEMON_SET_ANNOTATION] === daemonSet);
}

/** Deletes the policies of former targets, of other lifetimes, and with via: Template all of them. */
export function removeObsolete(subjects: readonly AdmissionSubject[], observed: Observed): Intent[] {
  const views = ownPoliciesOf(observed).filter(view => {
    const subject = subjects.find(({ daemonSet }) => daemonSet.view.name === view.annotations[DAEMON_SET_ANNOTATION]);
    return subject === undefined || isObsolete(view, subject);
  });
  return buildRemoval(views, "The policy is not needed any more: no target of this object uses it.");
}

function isObsolete(view: ClusterObjectView, subject: AdmissionSubject): boolean {
  const { daemonSet, pair, nowMs } = subject;
  // A revert deletes its policies itself.
  if (daemonSet.view.skip || daemonSet.record?.outcome === "Reverting") return false;
  if (!needsPolicy(subject) || daemonSet.record?.outcome === "Reverted") return true;
  // The new policy must be in effect first, so that no pod gets a longer token in between.
  return view.name !== pair.name && nowMs >= inEffectMs(subject);
}

/** Deletes all policies of a ControllerResilience that is being deleted or has no tokenLifetime block any more. */
export async function cleanUpPolicies(object: ControllerResilience, readers: Readers): Promise<readonly Intent[]> {
  const views = ownPoliciesOf({ admission: await readOwnPolicies(object, readers), owner: object });
  return buildRemoval(views, "The ControllerResilience is being deleted or does not ask for the policy any more.");
}
