import { compareDesired, equals, viewIn, type DesiredState } from "../../../core/desired";
import type { JsonObject } from "../../../core/json";
import { ownedName, ownerLabels } from "../../../core/owned";
import type { ClusterObjectView, DaemonSetView } from "../../../core/views";
import type { Observed, Spec } from "../observed";
import { bindingSpec, policySpec } from "./policy";

/** Prefix of the names of all pairs. */
const PREFIX = "controller-resilience-token-";

/** The policy or the binding of a pair. */
export interface Half {
  readonly kind: "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding";
  /** The spec that the operator wants. */
  readonly spec: JsonObject;
  readonly state: DesiredState;
}

/** A policy and its binding, which have the same name. */
export interface Pair {
  readonly name: string;
  readonly halves: readonly Half[];
}

/** The pair of one DaemonSet and one lifetime. Another lifetime has another pair, so that no API server sees half of a change. */
export function pairOf(
  { namespace, name: daemonSet }: DaemonSetView,
  { owner, admission }: Pick<Observed, "owner" | "admission">,
  { expirationSeconds }: Spec,
): Pair {
  const identity = [owner.metadata.uid, daemonSet, `${expirationSeconds}`];
  const name = ownedName(PREFIX, [namespace, daemonSet], identity);
  const half = (kind: Half["kind"], spec: JsonObject, all: readonly ClusterObjectView[] = []): Half => {
    const desired = { kind, name, labels: ownerLabels(owner), annotations: {}, spec };
    // A field that another manager adds, such as a match condition, can make the policy ineffective.
    return { kind, spec, state: compareDesired(desired, all, equals) };
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

/** Reports whether both halves exist with the wanted spec. */
export function isComplete({ halves }: Pair): boolean {
  return halves.every(({ state }) => isRight(state));
}

/** Reports whether the operator's object has another spec than the wanted one. */
export function isDrifted({ state }: Half): boolean {
  return state.is !== "missing" && state.is !== "foreign" && !isRight(state);
}

/** The policy is in force until its deletion is done. */
function isRight(state: DesiredState): boolean {
  return state.is === "right" || (state.is === "deleting" && state.isRight);
}

/** When the operator last wrote a half. */
export function writtenMs({ halves }: Pair): number {
  return Math.max(...halves.map(({ state }) => viewIn(state)?.writtenAtMs ?? viewIn(state)?.createdAtMs ?? -Infinity));
}
