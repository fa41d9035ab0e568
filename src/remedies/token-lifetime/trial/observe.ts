import { ForbiddenError, TransientError } from "../../../core/errors";
import type { Readers } from "../../../core/readers";
import type { PodView } from "../../../core/views";
import { activePodsOf, isBounded, type ObservedDaemonSet, type ObservedPod, type Spec } from "../observed";
import { firstPodOf, isNodeAgent, tokenDiedMs } from "./first-pod";

/** Reads whether pods have started on the node of the first agent with the shorter token, if that is what the next step waits for. */
export async function withProof(
  daemonSet: ObservedDaemonSet,
  spec: Spec,
  readers: Readers,
): Promise<ObservedDaemonSet> {
  const first = firstPodOf(daemonSet, spec);
  const node = first?.pod.nodeName;
  if (first === undefined || node === undefined || !isAwaited(daemonSet, spec)) return daemonSet;
  const sinceMs = tokenDiedMs(first, spec);
  if (readers.clock.now().getTime() < sinceMs) return daemonSet;
  const proof = await proofOn(node, sinceMs, readers);
  const pods = daemonSet.pods.map(one => (one.pod.uid === first.pod.uid ? { ...one, ...proof } : one));
  return { ...daemonSet, pods };
}

function isAwaited(daemonSet: ObservedDaemonSet, spec: Spec): boolean {
  return isNodeAgent(daemonSet) && activePodsOf(daemonSet).some(({ pod }) => !isBounded(pod, spec));
}

/** Without the right to read the node's pods there is no proof. */
async function proofOn(
  node: string,
  sinceMs: number,
  readers: Readers,
): Promise<Pick<ObservedPod, "hasSandboxStarted" | "isNodeForbidden">> {
  try {
    const pods = await readers.podsOnNode(node);
    return pods.some(pod => hasStartedSince(pod, sinceMs)) ? { hasSandboxStarted: true } : {};
  } catch (error) {
    if (error instanceof ForbiddenError) return { isNodeForbidden: true };
    if (error instanceof TransientError) return {};
    throw error;
  }
}

/** A network plugin has set up the pod's network since that time. */
function hasStartedSince({ hostNetwork, createdAtMs, volumesReadyMs, containers }: PodView, sinceMs: number): boolean {
  if (hostNetwork === true || createdAtMs < sinceMs) return false;
  return volumesReadyMs !== undefined || containers.some(({ startedAtMs }) => startedAtMs !== undefined);
}
