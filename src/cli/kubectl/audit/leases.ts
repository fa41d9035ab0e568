import { timeOf } from "../../../core/json";
import type { LeaseView } from "../../../core/leases";
import { formatDuration } from "../../../core/time";
import type { PodView } from "../../../core/views";
import type { Session } from "../session";
import { type AuditFacts, isActive } from "./facts";
import type { Finding } from "./finding";

// Leases that are past their duration although a pod with the holder's name runs. One look cannot tell, since the clock of the holder's node may
// be off; a second one shows whether it renews them.

/** Leases of nodes and API servers have no pod as holder. */
const NODE_LEASES = "kube-node-lease";

/** A Lease is watched for its duration, but no longer than this. */
const LONGEST_WATCH_MS = 20_000;

/** A holder may renew late, and its node's clock may be off by some seconds. */
const TOLERANCE_MS = 5_000;

/** A Lease that its running holder has not renewed. */
interface Suspicious {
  readonly lease: LeaseView;
  /** Name of the holder's pod. */
  readonly pod: string;
}

/** Leases that their running holder does not renew: looks at these again, by `list`, if any seems stale. */
export async function readStaleLeases(
  session: Session,
  list: () => Promise<readonly LeaseView[] | undefined>,
  leases: readonly LeaseView[] = [],
  { pods = [], nowMs }: AuditFacts,
): Promise<Finding[]> {
  const suspicious = leases.flatMap(lease => {
    const pod = lease.namespace === NODE_LEASES ? undefined : holderOf(lease, pods);
    const sinceMs = nowMs - (timeOf(lease.renewed) ?? Infinity);
    return pod !== undefined && sinceMs > durationOf(lease) + TOLERANCE_MS ? [{ lease, pod: pod.name }] : [];
  });
  if (suspicious.length === 0) return [];
  const watchMs = Math.min(LONGEST_WATCH_MS, Math.max(...suspicious.map(({ lease }) => durationOf(lease))));
  await session.wait("suspicious Leases", watchMs);
  const again = await list();
  return suspicious
    .filter(({ lease }) => again?.some(one => isUnchanged(one, lease)))
    .map(one => stale(one, durationOf(one.lease) <= watchMs, nowMs));
}

/** The time after which others may take a Lease. */
function durationOf({ durationMs = 15_000 }: LeaseView): number {
  return durationMs;
}

function isUnchanged(a: LeaseView, b: LeaseView): boolean {
  return a.namespace === b.namespace && a.name === b.name && a.renewed === b.renewed && a.holder === b.holder;
}

/** client-go's identity is the host name, which is the pod's, often with `_` and a random suffix. */
function holderOf({ holder, namespace }: LeaseView, pods: readonly PodView[]): PodView | undefined {
  const [name = ""] = holder.split("_");
  return pods.find(pod => pod.namespace === namespace && pod.name === name && isActive(pod) && pod.phase === "Running");
}

/** @param isSure it was watched for a whole duration */
function stale({ lease, pod }: Suspicious, isSure: boolean, nowMs: number): Finding {
  const { namespace, name, renewed } = lease;
  const doubt = isSure ? "" : " (a suspicion: it was not watched for a whole duration)";
  return {
    ...{ check: "StaleLease", kind: "Lease", namespace, name },
    severity: isSure ? "critical" : "warning",
    why: `last renewed ${formatDuration(nowMs - (timeOf(renewed) ?? nowMs))} ago, for ${formatDuration(durationOf(lease))}, although pod ${pod} of its holder runs${doubt}. Such a controller may hang, or be answered 401.`,
    wayOut: "If it hangs, delete the pod. See what it logs:",
    command: `kubectl logs ${pod} -n ${namespace} --tail=50`,
  };
}
