import { isOwnedBy, ownedName } from "../../../core/owned";
import type { ClusterObjectView, DaemonSetView } from "../../../core/views";
import type { Spec, TokenLifetimeFacts } from "../facts";
import { canonical, type JsonObject } from "../template";
import { bindingSpec, policySpec } from "./policy";

/** Names of pairs begin so. */
const PREFIX = "controller-resilience-token-";

/** One of the two objects, as it is to be and as it is. */
export interface Half {
  readonly kind: "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding";
  readonly spec: JsonObject;
  /** What has its name; absent: nothing. */
  readonly view?: ClusterObjectView;
  /** Foreign: it has the name, but is not this object's. Drifted: somebody has changed it. */
  readonly state: "Missing" | "Foreign" | "Drifted" | "Right";
}

/** A policy and its binding, which have one name. */
export interface Pair {
  readonly name: string;
  readonly halves: readonly Half[];
}

/** The pair of one DaemonSet and one life: with another life it is another pair, so that no API server sees half of a change. */
export function pairOf(
  { namespace, name: daemonSet }: DaemonSetView,
  { owner, admission }: Pick<TokenLifetimeFacts, "owner" | "admission">,
  { expirationSeconds }: Spec,
): Pair {
  const identity = [owner.metadata.uid, daemonSet, `${expirationSeconds}`];
  const name = ownedName(PREFIX, [namespace, daemonSet], identity);
  const half = (kind: Half["kind"], spec: JsonObject, all: readonly ClusterObjectView[] = []): Half => {
    const view = all.find(one => one.name === name);
    if (view === undefined) return { kind, spec, state: "Missing" };
    if (!isOwnedBy(view, owner)) return { kind, spec, view, state: "Foreign" };
    return { kind, spec, view, state: canonical(view.spec) === canonical(spec) ? "Right" : "Drifted" };
  };
  const policy = policySpec({ namespace, daemonSet, expirationSeconds });
  return {
    name,
    halves: [
      half("MutatingAdmissionPolicy", policy, admission?.policies),
      half("MutatingAdmissionPolicyBinding", bindingSpec(name), admission?.bindings),
    ],
  };
}

/** Both are there as they are to be. */
export function isMade({ halves }: Pair): boolean {
  return halves.every(({ state }) => state === "Right");
}

/** When the operator wrote either of the two last. */
export function madeMs({ halves }: Pair): number {
  return Math.max(...halves.map(({ view }) => view?.writtenAtMs ?? view?.createdAtMs ?? -Infinity));
}
