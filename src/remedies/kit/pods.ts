import type { PodView } from "../../core/views";

/** The life of the token that admission injects. The API server extends it to a year, but the kubelet refreshes by this value. */
export const EXTENDED_SECONDS = 3607;

/** What identifies the owner of pods. */
interface Owner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Reports whether a pod belongs to a workload. A Deployment's pod is owned by a ReplicaSet whose name ends in the pod's own template hash. So
 * no permission on ReplicaSets is needed, and `web` never takes the pods of `web-api`.
 */
export function isOwnedBy(pod: PodView, workload: Owner): boolean {
  const { owner } = pod;
  if (owner === undefined || pod.namespace !== workload.namespace) return false;
  if (workload.kind !== "Deployment") return owner.kind === workload.kind && owner.uid === workload.uid;
  const hash = pod.labels["pod-template-hash"];
  return owner.kind === "ReplicaSet" && hash !== undefined && owner.name === `${workload.name}-${hash}`;
}

/** Reports whether a pod has ended (Succeeded, Failed) and so no longer uses its token. */
export function hasEnded({ phase }: PodView): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/**
 * Returns the pod with its tokens for the API server: those without an audience, and those that name one of the API server's, which the view
 * does not know.
 */
export function withAudiences(pod: PodView, audiences: readonly string[] = []): PodView {
  const tokens = (pod.audienceTokens ?? []).filter(({ audience }) => audiences.includes(audience));
  if (tokens.length === 0) return pod;
  const lives = tokens.flatMap(({ expirationSeconds }) => expirationSeconds ?? []);
  const { tokenExpirationSeconds: least = Infinity, maxTokenExpirationSeconds: most = -Infinity } = pod;
  return {
    ...{ ...pod, mountsToken: true },
    ...(lives.length > 0 && {
      tokenExpirationSeconds: Math.min(least, ...lives),
      maxTokenExpirationSeconds: Math.max(most, ...lives),
    }),
  };
}
