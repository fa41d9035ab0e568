import { ForbiddenError, TransientError } from "../../../core/errors";
import type { Readers } from "../../../core/readers";
import type { PodView } from "../../../core/views";
import { activePodsOf, isBounded, type ObservedDaemonSet, type Spec } from "../observed";
import { firstPodOf, needsProof, tokenDiedMs } from "./first-pod";

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
  const pods = await podsOn(node, readers);
  if (!pods.some(pod => hasStartedSince(pod, sinceMs))) return daemonSet;
  const proven = daemonSet.pods.map(one => (one.pod.uid === first.pod.uid ? { ...one, hasSandboxStarted: true } : one));
  return { ...daemonSet, pods: proven };
}

function isAwaited(daemonSet: ObservedDaemonSet, spec: Spec): boolean {
  return needsProof({ daemonSet, spec }) && activePodsOf(daemonSet).some(({ pod }) => !isBounded(pod, spec));
}

/** Without the right to read them there is no proof. */
async function podsOn(node: string, readers: Readers): Promise<readonly PodView[]> {
  try {
    return await readers.podsOnNode(node);
  } catch (error) {
    if (error instanceof ForbiddenError || error instanceof TransientError) return [];
    throw error;
  }
}

/** A network plugin has set up the pod's network since that time. */
function hasStartedSince({ hostNetwork, createdAtMs, volumesReadyMs, containers }: PodView, sinceMs: number): boolean {
  if (hostNetwork === true || createdAtMs < sinceMs) return false;
  return volumesReadyMs !== undefined || containers.some(({ startedAtMs }) => startedAtMs !== undefined);
}
