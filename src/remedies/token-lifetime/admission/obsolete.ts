import type { ControllerResilience, DaemonSetStatus } from "../../../api/controller-resilience";
import { DAEMON_SET_ANNOTATION } from "../../../api/names";
import { ForbiddenError, TransientError } from "../../../core/errors";
import type { Intent } from "../../../core/intent";
import { isOwnedBy, ownerLabels } from "../../../core/owned";
import type { Readers } from "../../../core/readers";
import type { ClusterObjectView } from "../../../core/views";
import type { AdmissionFacts, TokenLifetimeFacts } from "../facts";
import { buildRemoval } from "./build";
import { inEffectMs, isInNeed, type AdmissionCase } from "./case";

/**
 * Every policy and binding of the cluster with these labels; without any, also those that are not the operator's but may have a name of its.
 *
 * @throws whatever the reader throws
 */
export async function readPairs(
  from: Readers,
  labels?: Readonly<Record<string, string>>,
): Promise<AdmissionFacts | null> {
  const policies = await from.clusterObjects("MutatingAdmissionPolicy", labels);
  const bindings = await from.clusterObjects("MutatingAdmissionPolicyBinding", labels);
  return policies === null || bindings === null ? null : { policies, bindings };
}

/**
 * What was made for this object, where perhaps nothing ever was: then an operator without the right to look has nothing to look for.
 *
 * @throws TransientError if there should be something, and the API server does not serve the kinds; whatever the reader throws, but for
 * the missing right where nothing was made
 */
export async function readLeftovers(object: ControllerResilience, from: Readers): Promise<AdmissionFacts | null> {
  const known = object.status?.daemonSets?.find(({ policy }) => policy !== undefined)?.policy;
  const found = await readPairs(from, ownerLabels(object)).catch((error: unknown) => {
    if (known !== undefined || !(error instanceof ForbiddenError)) throw error;
    return { policies: [], bindings: [] };
  });
  if (found === null && known !== undefined) throw new TransientError(orphaned(known));
  return found;
}

/** As in the middle of an upgrade, or after a downgrade. */
function orphaned(policy: string): string {
  return `the API server that answered does not serve MutatingAdmissionPolicy, and the policy ${policy} was made; it is looked for again until it can be taken away`;
}

/** What status tells, with the pair that was made: it is remembered until it is seen to be gone. */
export function withKnownPair(
  entry: DaemonSetStatus,
  known: string | undefined,
  facts: TokenLifetimeFacts,
): DaemonSetStatus {
  if (entry.policy !== undefined || known === undefined) return entry;
  const isGone = facts.admission !== null && pairsOf(entry.name, facts).length === 0;
  return isGone ? entry : { ...entry, policy: known };
}

/** What was made for this object. */
export function ownPairs({ admission, owner }: Pick<TokenLifetimeFacts, "admission" | "owner">): ClusterObjectView[] {
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

/** Everything that was made for an object that goes, or whose block has gone. @throws as {@link readLeftovers} */
export async function cleanUpPairs(object: ControllerResilience, from: Readers): Promise<readonly Intent[]> {
  const own = ownPairs({ admission: await readLeftovers(object, from), owner: object });
  return buildRemoval(own, "The object that it was made for goes, or does not ask for it any more.");
}
