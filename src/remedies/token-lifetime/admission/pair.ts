import { isOwnedBy, ownedName } from "../../../core/owned";
import type { ClusterObjectView, DaemonSetView } from "../../../core/views";
import type { Observed, Spec } from "../observed";
import { canonical, type JsonObject } from "../template";
import { bindingSpec, policySpec } from "./policy";

/** Prefix of the names of all pairs. */
const PREFIX = "controller-resilience-token-";

/** The policy or the binding of a pair. */
export interface Half {
  readonly kind: "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding";
  /** The spec that the operator wants. */
  readonly spec: JsonObject;
  /** The object with this name, if there is one. */
  readonly view?: ClusterObjectView;
  /** Foreign: the object belongs to another owner. Drifted: another manager changed it. */
  readonly state: "Missing" | "Foreign" | "Drifted" | "Right";
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

/** Reports whether both halves exist with the wanted spec. */
export function isComplete({ halves }: Pair): boolean {
  return halves.every(({ state }) => state === "Right");
}

/** When the operator last wrote a half. */
export function writtenMs({ halves }: Pair): number {
  return Math.max(...halves.map(({ view }) => view?.writtenAtMs ?? view?.createdAtMs ?? -Infinity));
}
