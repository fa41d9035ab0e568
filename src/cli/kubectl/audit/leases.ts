import { timeOf } from "../../../core/json";
import { followLease, type LeaseTrack, type LeaseView } from "../../../core/leases";
import { formatDuration } from "../../../core/time";
import { groupBy, type PodView } from "../../../core/views";
import { AbleTimes, Holders, judgeLeases, type LeaseFacts } from "../../../remedies/stall-detection/lease-judge";
import type { Session } from "../session";
import type { AuditFacts } from "./facts";
import type { Finding } from "./finding";

// Leases that their running holder does not renew, by the rules of stallDetection. What it sees over time, one look reads in the Lease's own
// times; since the clock of the holder's node may be off, a second look shows whether it, or another Lease of the pod, is renewed.

/** A Lease is watched for its duration, but no longer than this. */
const LONGEST_WATCH_MS = 20_000;

/** Leases that their running holder does not renew: looks at these again, by `list`, if any seems stale. */
export async function readStaleLeases(
  session: Session,
  list: () => Promise<readonly LeaseView[] | undefined>,
  leases: readonly LeaseView[] = [],
  { pods = [], nowMs }: AuditFacts,
): Promise<Finding[]> {
  const held = heldLeases(session, { leases, pods, nowMs });
  const suspicious = unseen(held);
  if (suspicious.length === 0) return [];
  const watchMs = Math.min(LONGEST_WATCH_MS, Math.max(...suspicious.map(({ track }) => track.durationMs ?? 0)));
  await session.wait("suspicious Leases", watchMs);
  const again = new Map((await list())?.map(lease => [lease.uid, lease]));
  const moment = { nowMs: nowMs + watchMs, countedMs: watchMs };
  const followed = held.flatMap(one => {
    const view = again.get(one.track.uid);
    return view === undefined ? [] : [{ ...one, track: followLease(one.track, view, moment) }];
  });
  return unseen(followed).map(({ track, pod }) => stale(track, pod, watchMs));
}

/** The Leases of pods, as if this process had followed them since they were last renewed. */
function heldLeases(
  { clock }: Session,
  { leases, pods, nowMs }: { leases: readonly LeaseView[]; pods: readonly PodView[]; nowMs: number },
): LeaseFacts[] {
  const holders = new Map(
    Array.from(
      groupBy(pods, pod => pod.namespace),
      ([name, own]) => [name, new Holders([], own)],
    ),
  );
  const able = new AbleTimes();
  return leases.flatMap(lease => {
    const standingMs = nowMs - (timeOf(lease.renewed) ?? Infinity);
    const track = { ...followLease(undefined, lease, { nowMs, countedMs: 0 }), standingMs };
    const pod = holders.get(lease.namespace)?.of(track, false);
    if (pod === undefined) return [];
    const judged = { intervalMs: 0, forMs: 0, isFresh: true, isConfirmed: false, wasStale: false };
    return [{ ...judged, track, pod, ableForMs: able.ofMs(pod, clock) }];
  });
}

/** Those of pods that renew none: an audit has seen no renewal before. */
function unseen(leases: readonly LeaseFacts[]): LeaseFacts[] {
  const ofPods = [...groupBy(leases, ({ pod }) => pod.uid).values()];
  return ofPods.flatMap(judgeLeases).filter(({ verdict }) => verdict === "unseen");
}

/** Without a whole duration of watching it is a suspicion. */
function stale(track: LeaseTrack, { name: pod }: PodView, watchMs: number): Finding {
  const { namespace, name, standingMs, durationMs = 0 } = track;
  const isSure = durationMs <= watchMs;
  const doubt = isSure ? "" : " (a suspicion: it was not watched for a whole duration)";
  return {
    ...{ check: "StaleLease", kind: "Lease", namespace, name },
    severity: isSure ? "critical" : "warning",
    why: `last renewed ${formatDuration(standingMs)} ago, for ${formatDuration(durationMs)}, although pod ${pod} of its holder runs${doubt}. Such a controller may hang, or be answered 401 or 403.`,
    wayOut: "If it hangs, restart the pod. See what it logs:",
    command: `kubectl logs ${pod} -n ${namespace} --tail=50`,
  };
}
