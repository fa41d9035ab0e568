import type { RejectionReading, Rejections } from "../../core/rejections";
import type { PodView } from "../../core/views";

/**
 * Returns the 401s of a pod by its address. Undefined while none is known, if it shares its address, is being deleted or does not run, and
 * if the 401s began before the pod was created: another pod may have had the address then. Pure.
 */
export function rejectionsOf(
  pod: PodView,
  pods: readonly PodView[],
  reading: Pick<RejectionReading, "of">,
): Rejections | undefined {
  if (pod.deletedAtMs !== undefined || pod.phase !== "Running") return undefined;
  const own = (pod.addresses ?? []).filter(address => pods.every(other => other === pod || !has(other, address)));
  const found = own.flatMap(address => reading.of(address) ?? []).filter(({ firstMs }) => firstMs > pod.createdAtMs);
  return found.toSorted((a, b) => b.lastMs - a.lastMs)[0];
}

function has({ addresses }: PodView, address: string): boolean {
  return addresses?.includes(address) === true;
}
