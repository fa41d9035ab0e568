import type { LeaseTrack } from "../../core/leases";
import { parseDuration } from "../../core/time";
import { groupBy, type PodView } from "../../core/views";
import { type HeldLease, isReleased } from "./lease-judge";
import { showsFailure } from "./logs";
import type { Pass, PodLogs } from "./observed";

// Which Leases the pods hold.

/** A reading that is older proves nothing. */
const MAX_AGE_MS = 60_000;

/** While a pod may be restarted because of a stale Lease, Leases are read this often instead of every ten seconds. */
const SOON_MS = 2_000;

/** A pod is restarted on a younger reading only: the Lease may have been renewed since. Rounds are 10 s apart. */
const FRESH_MS = 15_000;

/** A Lease with what a judgement needs of its reading. */
interface ReadLease extends Pick<HeldLease, "track" | "intervalMs" | "isFresh"> {
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
  return { leases, unread };
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
    const shared = { pod, forMs, isConfirmed: showsFailure(logs), ableForMs: able.ofMs(pod, clock) };
    return (held.get(pod.uid) ?? []).map(lease => ({ ...lease, ...shared, wasStale: isKnown(lease.track, pod) }));
  };
}

/** A Lease in status and messages. */
export function leaseId({ namespace, name }: Pick<LeaseTrack, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** A pod by a name that it may use as its identity. */
interface NamedPod {
  readonly name: string;
  readonly pod: PodView;
}

/** Longest host name that the kubelet gives a pod. */
const MAX_HOSTNAME = 63;

/**
 * The pods that hold Leases, by their identity: client-go's default is the host name, an underscore and a uuid, and many programs use the name
 * of the pod, some with a suffix (cert-manager, Cilium), which does not count where the names of others, such as `web-0-proxy`, may begin with that of
 * a StatefulSet's pod. There is no holder if several pods of the namespace fit. A pod in the network of its node has the node's name, which is
 * ambiguous: it counts only for a Lease that the spec lists.
 */
export class Holders {
  readonly #byName: ReadonlyMap<string, readonly NamedPod[]>;
  readonly #byNode: ReadonlyMap<string, readonly PodView[]>;

  /** @param all the pods of the namespace, those of the targets included */
  constructor(targets: readonly PodView[], all: readonly PodView[]) {
    const onNodes = targets.filter(({ hostNetwork, nodeName }) => hostNetwork === true && nodeName !== undefined);
    this.#byName = groupBy(all.flatMap(namedPods), ({ name }) => name);
    this.#byNode = groupBy(onNodes, ({ nodeName = "" }) => nodeName);
  }

  /** Returns the holder of a Lease, or who released it; undefined if no pod of the namespace is it, or it is unknown which. */
  of({ holder, releasedBy }: LeaseTrack, isListed: boolean): PodView | undefined {
    const [host = ""] = (releasedBy ?? holder).split("_", 1);
    const podsOf = (name: string): PodView[] => [
      ...(this.#byName.get(name) ?? []).map(({ pod }) => pod),
      ...((isListed && this.#byNode.get(name)) || []),
    ];
    const exact = podsOf(host);
    const begun = beginningsOf(host).flatMap(podsOf);
    const named = new Set(exact.length > 0 ? exact : begun.filter(({ owner }) => owner?.kind !== "StatefulSet"));
    const [pod] = named;
    return named.size === 1 ? pod : undefined;
  }
}

/** What stands before each hyphen of a name. */
function beginningsOf(name: string): string[] {
  const parts = name.split("-");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("-"));
}

function namedPods(pod: PodView): NamedPod[] {
  const hostname = pod.hostNetwork === true ? pod.name : pod.name.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, "");
  return [pod.name, hostname].map(name => ({ name, pod }));
}
