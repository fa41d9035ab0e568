import type { PodView, WorkloadView } from "../../core/views";

// Which workload recreates a pod, by its controller owner reference and its labels. Pure: the operator needs no right to read owners.

/** The workload of a pod, as status names it. */
export interface PodOwner {
  /** With the API group, unless Kubernetes itself has the kind: `Rollout.argoproj.io`. */
  readonly kind: string;
  readonly name: string;
  /** Why an eviction may be final, within a sentence. Absent: the owner recreates its pods. */
  readonly refusal?: string;
}

/** Groups of the kinds that status names without a group. */
const BUILT_IN: ReadonlySet<string> = new Set(["", "apps", "batch"]);

/** Owners of a ReplicaSet give it a name that ends in a label of its pods. */
const REPLICA_SET_OWNERS = [
  { kind: "Deployment", label: "pod-template-hash" },
  { kind: "Rollout.argoproj.io", label: "rollouts-pod-template-hash" },
] as const;

/** Returns the workload that would recreate a pod; for a pod without one, the pod itself. */
export function podOwner(pod: PodView): PodOwner {
  const direct = directOwner(pod);
  return { ...direct, ...behindReplicas(pod, direct) };
}

/** Returns the owner that the pod itself names, and not the owner of that one. */
export function directOwner(pod: PodView): PodOwner {
  const { owner } = pod;
  const itself = { kind: "Pod", name: pod.name };
  if (owner === undefined) return { ...itself, refusal: "nothing would recreate it" };
  const [kind, refusal] = [kindOf(owner), refusalOf(pod, owner.kind)];
  if (kind === "Pod") return { ...itself, refusal: `its owner ${kind}/${owner.name} recreates no pods` };
  return { kind, name: owner.name, ...(refusal === undefined ? {} : { refusal }) };
}

function kindOf({ kind, group = "" }: NonNullable<PodView["owner"]>): string {
  return BUILT_IN.has(group) ? kind : `${kind}.${group}`;
}

function refusalOf({ runsOnce }: PodView, kind: string): string | undefined {
  if (kind === "Node") return "it is a static pod of its node";
  if (kind === "Job") return "an eviction may fail the Job";
  return runsOnce === true ? "it runs to completion (restartPolicy is not Always)" : undefined;
}

/** A Deployment, an Argo Rollout or a DeploymentConfig owns its pods through an object of each revision. */
function behindReplicas({ labels }: PodView, { kind, name }: PodOwner): PodOwner | undefined {
  if (kind === "ReplicaSet") {
    for (const { kind: owner, label } of REPLICA_SET_OWNERS) {
      const suffix = `-${labels[label] ?? ""}`;
      const isNamedBy = suffix.length > 1 && name.length > suffix.length && name.endsWith(suffix);
      if (isNamedBy) return { kind: owner, name: name.slice(0, -suffix.length) };
    }
  }
  const config = labels["deploymentconfig"];
  if (kind !== "ReplicationController" || config === undefined || labels["deployment"] !== name) return undefined;
  return { kind: "DeploymentConfig.apps.openshift.io", name: config };
}

/** Reports whether a pod belongs to a kind of workload that a target can name. */
export function isTypedKind(kind: string): kind is WorkloadView["kind"] {
  return kind === "Deployment" || kind === "StatefulSet" || kind === "DaemonSet";
}
