import type { ControllerResilience } from "../../../api/controller-resilience";
import { DAEMON_SET_ANNOTATION } from "../../../api/names";
import type { Intent } from "../../../core/intent";
import { isOwnedBy, ownerLabels } from "../../../core/owned";
import type { Readers } from "../../../core/readers";
import type { ClusterObjectView } from "../../../core/views";
import type { AdmissionFacts, TokenLifetimeFacts } from "../facts";
import { buildRemoval } from "./build";
import { inEffectMs, isInNeed, type AdmissionCase } from "./case";

/**
 * Every policy and binding of the cluster, also those that are not the operator's but may have a name of its.
 *
 * @throws whatever the reader throws
 */
export async function readPairs(from: Readers): Promise<AdmissionFacts | null> {
  const policies = await from.clusterObjects("MutatingAdmissionPolicy");
  const bindings = await from.clusterObjects("MutatingAdmissionPolicyBinding");
  return policies === null || bindings === null ? null : { policies, bindings };
}

/** What was made for this object. */
export function ownPairs({ admission, owner }: TokenLifetimeFacts): ClusterObjectView[] {
  return [...(admission?.policies ?? []), ...(admission?.bindings ?? [])].filter(view => isOwnedBy(view, owner));
}

/** What was made for this object and one of its DaemonSets, with whatever life. */
export function pairsOf(daemonSet: string, facts: TokenLifetimeFacts): ClusterObjectView[] {
  return ownPairs(facts).filter(({ annotations }) => annotations[DAEMON_SET_ANNOTATION] === daemonSet);
}

/** Takes away what is not needed any more: of another life, of what is no target now, of another way than admission. */
export function removeObsolete(cases: readonly AdmissionCase[], facts: TokenLifetimeFacts): Intent[] {
  const views = ownPairs(facts).filter(view => {
    const daemonSet = view.annotations[DAEMON_SET_ANNOTATION];
    return isObsolete(
      view,
      cases.find(({ own }) => own.view.name === daemonSet),
    );
  });
  return buildRemoval(views, "It is not needed any more: no token is to be shortened by it.");
}

function isObsolete(view: ClusterObjectView, given: AdmissionCase | undefined): boolean {
  if (given === undefined) return true;
  const { own, pair, nowMs } = given;
  // What is taken back because of 401s is its own matter.
  if (own.view.skip || own.record?.outcome === "Reverting") return false;
  if (!isInNeed(given) || own.record?.outcome === "Reverted") return true;
  // The new one first, so that there is no gap.
  return view.name !== pair.name && nowMs >= inEffectMs(given);
}

/** Everything that was made for an object that goes, or whose block has gone. @throws whatever the reader throws */
export async function cleanUpPairs(object: ControllerResilience, from: Readers): Promise<readonly Intent[]> {
  const labels = ownerLabels(object);
  const policies = (await from.clusterObjects("MutatingAdmissionPolicy", labels)) ?? [];
  const bindings = (await from.clusterObjects("MutatingAdmissionPolicyBinding", labels)) ?? [];
  const own = [...policies, ...bindings].filter(view => isOwnedBy(view, object));
  return buildRemoval(own, "The object that it was made for goes, or does not ask for it any more.");
}
