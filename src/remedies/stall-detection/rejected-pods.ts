import { rejectionsSince, type RejectionReading, type Rejections } from "../../core/rejections";
import { CLOCK_SKEW_MS } from "../../core/time";
import type { PodView } from "../../core/views";

/**
 * Returns the 401s of a pod by its address. Undefined while none is known, if it shares its address, is being deleted or does not run.
 * Those before the pod was created, or had its network, may be those of another pod: see {@link rejectionsSince}. Pure.
 *
 * @param shared as of {@link sharedAddresses}
 */
export function rejectionsOf(
  pod: PodView,
  shared: ReadonlySet<string>,
  reading: Pick<RejectionReading, "of">,
): Rejections | undefined {
  if (pod.deletedAtMs !== undefined || pod.phase !== "Running") return undefined;
  const fromMs = Math.max(pod.createdAtMs, (pod.volumesReadyMs ?? -Infinity) - CLOCK_SKEW_MS);
  const own = (pod.addresses ?? []).filter(address => !shared.has(address));
  const found = own
    .flatMap(address => reading.of(address) ?? [])
    .flatMap(series => rejectionsSince(series, fromMs) ?? []);
  return found.toSorted((a, b) => b.lastMs - a.lastMs)[0];
}

/** Returns the addresses that several of these pods have. */
export function sharedAddresses(pods: readonly PodView[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const address of pods.flatMap(({ addresses = [] }) => [...new Set(addresses)]))
    if (seen.has(address)) shared.add(address);
    else seen.add(address);
  return shared;
}
