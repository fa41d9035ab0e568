import type { LeaseTrack } from "../../core/leases";
import { parseDuration } from "../../core/time";
import { groupBy, type PodView } from "../../core/views";
import { describeLost, idOf, lostAt } from "./denials";
import {
  type HeldLease,
  Holders,
  isReleased,
  judgeLeases,
  type LeaseFacts,
  leaseId,
  staleLimitMs,
} from "./lease-judge";
import { showsFailure } from "./logs";
import type { ObservedPod, Pass, PodLogs, Scope } from "./observed";
import { accuse, note, type Sign } from "./reasons";

// The Leases that the pods hold: how they are read, and what they show.

/** A reading that is older proves nothing. */
const MAX_AGE_MS = 60_000;

/** While a pod may be restarted because of a stale Lease, Leases are read this often instead of every ten seconds. */
const SOON_MS = 2_000;

/** A pod is restarted on a younger reading only: the Lease may have been renewed since. Rounds are 10 s apart. */
const FRESH_MS = 15_000;

/** A Lease with what a judgement needs of its reading. */
interface ReadLease extends Pick<LeaseFacts, "track" | "intervalMs" | "isFresh"> {
  readonly isListed: boolean;
}

/** Reads the Leases of the namespace, and those that the spec lists. `unread`: how the ids of those begin of which nothing is known now. */
export async function readLeases(pass: Pass) {
  const { object, spec } = pass;
  const own = object.metadata.namespace;
  const namespaces = spec.evidence.includes("Lease") ? [own, ...spec.leases.map(lease => lease.namespace)] : [];
  const leases: ReadLease[] = [];
  const unread: string[] = [];
  for (const namespace of new Set(namespaces)) {
    const reading = await readNamespace(namespace, pass);
    if (reading === undefined) unread.push(leaseId({ namespace, name: "" }));
    for (const { track, ...read } of reading ?? []) {
      const isListed = spec.leases.some(lease => lease.namespace === namespace && lease.name === track.name);
      if (namespace === own || isListed) leases.push({ ...read, track, isListed });
    }
  }
  // A pod may renew one that is not known.
  const known = leases.map(lease => ({ ...lease, isFresh: lease.isFresh && unread.length === 0 }));
  return { leases: known, unread };
}

/** Undefined: nothing is known of them now. A reading has to be young while a pod may be restarted because of a stale Lease. */
async function readNamespace(namespace: string, { object, spec, readers, problems }: Pass) {
  const isStale = object.status?.stalls?.some(({ lease }) => lease !== undefined) === true;
  const maxAgeMs = isStale && spec.onStall === "Restart" ? SOON_MS : Infinity;
  const { leases, readMs = -Infinity, unknown, intervalMs } = await readers.leases(namespace, maxAgeMs);
  if (unknown !== undefined) problems.push(unknown);
  const ageMs = readers.clock.monotonicMs() - readMs;
  const isFresh = unknown === undefined && ageMs <= FRESH_MS;
  return ageMs > MAX_AGE_MS + intervalMs ? undefined : leases.map(track => ({ track, intervalMs, isFresh }));
}

/** Returns which of the Leases a pod holds. `all`: the pods of the namespace, those of the targets, `views`, included. */
export function holding(
  leases: readonly ReadLease[],
  { views, all }: { readonly views: readonly PodView[]; readonly all: readonly PodView[] },
  { object, spec, readers: { clock }, memory: { able } }: Pass,
): (pod: PodView, logs: PodLogs) => HeldLease[] {
  able.follow(views, clock);
  const forMs = parseDuration(spec.for);
  const known = object.status?.stalls?.filter(({ evidence }) => evidence === "Lease") ?? [];
  const isKnown = (track: LeaseTrack, { uid }: PodView): boolean =>
    known.some(one => one.lease === leaseId(track) && one.podUID === uid && one.leaseVersion === track.resourceVersion);
  const holders = new Holders(views, all);
  const holderOf = ({ track, isListed }: ReadLease): PodView | undefined =>
    isReleased(track) && track.releasedBy === undefined
      ? views.find(view => isKnown(track, view))
      : holders.of(track, isListed);
  const held = groupBy(leases, lease => holderOf(lease)?.uid ?? "");
  return (pod, logs) => {
    const times = { ableForMs: able.ofMs(pod, clock), startSeenMs: able.startSeenMs(pod) };
    const shared = { pod, forMs, isConfirmed: showsFailure(logs), ...times };
    const own = held.get(pod.uid) ?? [];
    return judgeLeases(own.map(lease => ({ ...lease, ...shared, wasStale: isKnown(lease.track, pod) })));
  };
}

/** What the Leases show. Of those that pods have left it says the first, since their number would change with each task of a program. */
export function signsOfLeases(scope: Scope): Sign[] {
  const signs = scope.pods.flatMap(pod => pod.leases.flatMap(held => signOf(held, pod, scope) ?? []));
  const [left] = scope.pods.flatMap(({ leases }) => leases.filter(({ verdict }) => verdict === "left"));
  if (left?.renewed === undefined) return signs;
  const renewed = `Pod ${left.pod.name} no longer renews Lease ${leaseId(left.track)} but renews ${leaseId(left.renewed)}`;
  const why = "it may have finished with the first. The operator leaves it, and pods like it, alone.";
  return [...signs, note(`${renewed}: ${why}`)];
}

function signOf(held: HeldLease, pod: ObservedPod, scope: Scope): Sign | undefined {
  const { track, verdict } = held;
  const { name, uid } = pod.view;
  const id = leaseId(track);
  if (verdict === "unconfirmed")
    return note(
      `Lease ${id} is no longer renewed, and pod ${name} restarted a container or was away since; nothing shows that it still should be.`,
    );
  if (verdict === "unseen")
    return note(
      `Pod ${name} holds Lease ${id}, and has not renewed it since the operator leads; it may have finished with it, or hang since before: see its log, and delete the pod if it hangs.`,
    );
  if (verdict !== "stale") return undefined;
  const what = isReleased(track)
    ? `released Lease ${id}, and no pod has taken it since`
    : `holds Lease ${id} and no longer renews it`;
  const lost = lostWith(held, pod, scope)?.id;
  const of = { pod: name, podUID: uid, lease: id, leaseVersion: track.resourceVersion, ...(lost && { lost }) };
  return accuse("LeaseNotRenewed", of, `Pod ${name} ${what}${confirmationIn(pod.logs)}.`, scope);
}

/**
 * The binding that may have let a pod renew a stale Lease until it stopped, as seen, or as status says since an earlier process: while it is gone, and
 * for as long as a Lease may stand still since it came back, at `backMs`.
 */
export function lostWith(held: HeldLease, { view }: ObservedPod, { observed, now }: Scope) {
  const { lost, previous, boundSinceMs } = observed;
  const gone = lostAt(held.track, view, lost);
  if (gone !== undefined) return { id: idOf(gone), why: describeLost(gone, view.serviceAccountName) };
  const id = previous.find(one => one.lease === leaseId(held.track) && one.podUID === view.uid)?.lost;
  if (id === undefined) return undefined;
  const backMs = boundSinceMs.get(id);
  const hasTime = backMs === undefined || now.getTime() - backMs < staleLimitMs(held);
  return hasTime ? { id, why: `${id} was lost`, backMs } : undefined;
}

/** A log with 401s makes certain what a Lease alone suggests. */
function confirmationIn(logs: PodLogs): string {
  if (logs.has401) return ", and its requests get 401 responses";
  return showsFailure(logs) ? ", and its log shows that it lost it" : "";
}
