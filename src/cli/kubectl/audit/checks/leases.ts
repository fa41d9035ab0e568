import { formatDuration } from "../../../../core/duration";
import type { PodView } from "../../../../core/views";
import { type AuditFacts, isActive, type LeaseFacts } from "../facts";
import type { Finding } from "../finding";

/** A holder may renew late, and its node's clock may be off by some seconds. */
const TOLERANCE_MS = 5_000;

/** Leases that are past their duration although a pod with the holder's name runs. One look cannot tell: the node's clock may be off. */
export function suspiciousLeases({ leases = [], pods = [], nowMs }: AuditFacts): LeaseFacts[] {
  return leases.filter(lease => {
    const isLate = nowMs - lease.renewedMs > lease.durationMs + TOLERANCE_MS;
    return isLate && holderOf(lease, pods) !== undefined;
  });
}

/** Leases that were suspicious and were not renewed before the second look either. */
export function staleLeases(facts: AuditFacts): Finding[] {
  const { secondLook } = facts;
  return suspiciousLeases(facts)
    .filter(lease => secondLook === undefined || isUnchanged(lease, secondLook.leases))
    .map(lease => describe(lease, facts));
}

function isUnchanged(first: LeaseFacts, later: readonly LeaseFacts[]): boolean {
  const again = later.find(({ namespace, name }) => namespace === first.namespace && name === first.name);
  return again?.renewedMs === first.renewedMs && again.holder === first.holder;
}

function describe(lease: LeaseFacts, { secondLook, pods = [], nowMs }: AuditFacts): Finding {
  const { namespace, name, renewedMs, durationMs } = lease;
  const isSure = secondLook !== undefined && secondLook.afterMs >= durationMs;
  const pod = holderOf(lease, pods)?.name ?? lease.holder;
  const doubt = isSure ? "" : " (a suspicion: it was not watched for a whole duration)";
  return {
    ...{ check: "StaleLease", kind: "Lease", namespace, name },
    severity: isSure ? "critical" : "warning",
    why: `last renewed ${formatDuration(nowMs - renewedMs)} ago, for ${formatDuration(durationMs)}, although pod ${pod} of its holder runs${doubt}. Such a controller may hang, or be answered 401.`,
    wayOut: "If it hangs, delete the pod. See what it logs:",
    command: `kubectl logs ${pod} -n ${namespace} --tail=50`,
  };
}

/** client-go's identity is the host name, which is the pod's, often with `_` and a random suffix. */
function holderOf({ holder, namespace }: LeaseFacts, pods: readonly PodView[]): PodView | undefined {
  const [name = ""] = holder.split("_");
  return pods.find(pod => pod.namespace === namespace && pod.name === name && isActive(pod) && pod.phase === "Running");
}
