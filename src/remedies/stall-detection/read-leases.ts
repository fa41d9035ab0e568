import type { LeaseTrack } from "../../core/leases";
import { showsFailure } from "./losses";
import { holderOf } from "./holders";
import type { HeldLease } from "./lease-judge";
import type { Pass } from "./pass";
import type { ObservedPod, ObservedWorkload } from "./observed";

/** A reading that is older proves nothing. */
const MAX_AGE_MS = 60_000;

/** A Lease with what a judgement needs of its reading. */
interface ReadLease {
  readonly track: LeaseTrack;
  readonly intervalMs: number;
  readonly isListed: boolean;
}

/** What was read, and the namespaces in which nothing is known now. */
interface Found {
  readonly leases: readonly ReadLease[];
  readonly unread: readonly string[];
}

/** Reads the Leases of the namespace, and those that the spec lists. */
export async function readLeases({ object, spec, readers, problems }: Pass): Promise<Found> {
  const own = object.metadata.namespace;
  const found: ReadLease[] = [];
  const unread: string[] = [];
  if (!spec.evidence.includes("Lease")) return { leases: found, unread };
  for (const namespace of new Set([own, ...spec.leases.map(lease => lease.namespace)])) {
    const { leases, readMs = -Infinity, unknown, intervalMs } = await readers.leases(namespace);
    if (unknown !== undefined) problems.push(unknown);
    if (readers.clock.monotonicMs() - readMs > MAX_AGE_MS + intervalMs) {
      unread.push(namespace);
      continue;
    }
    const isListed = ({ name }: LeaseTrack): boolean =>
      spec.leases.some(lease => lease.namespace === namespace && lease.name === name);
    const wanted = leases.filter(track => namespace === own || isListed(track));
    found.push(...wanted.map(track => ({ track, intervalMs, isListed: isListed(track) })));
  }
  return { leases: found, unread };
}

/** Adds to each pod the Leases that it holds. */
export function withLeases(
  workloads: readonly ObservedWorkload[],
  leases: readonly ReadLease[],
  { object }: Pass,
  nowMs: number,
): ObservedWorkload[] {
  const views = workloads.flatMap(({ pods }) => pods.map(({ view }) => view));
  const holders = leases.map(lease => ({ ...lease, pod: holderOf(lease.track, views, lease.isListed) }));
  const heldBy = ({ view, logs }: ObservedPod): HeldLease[] =>
    holders
      .filter(({ pod }) => pod?.uid === view.uid)
      .map(({ track, intervalMs }) => ({
        ...{ track, intervalMs, pod: view },
        isConfirmed: logs.some(log => showsFailure(log, nowMs)),
        previous: object.status?.stalls?.find(
          ({ evidence, lease, podUID }) => evidence === "Lease" && lease === leaseId(track) && podUID === view.uid,
        ),
      }));
  return workloads.map(workload => ({
    ...workload,
    pods: workload.pods.map(pod => ({ ...pod, leases: heldBy(pod) })),
  }));
}

/** A Lease in status and messages. */
export function leaseId({ namespace, name }: Pick<LeaseTrack, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
