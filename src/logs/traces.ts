import { NO_TRACE, type UnauthorizedTrace, withGap, withLine, withUnauthorized } from "./persistence";

// Topics of records in logs besides 401s. Pure.

/** Topic of records about a lost Lease. */
export const LEASE_LOST = "lease-lost";

/** Topic of records about requests that waited or were rejected because of their rate. */
export const THROTTLED = "throttled";

/** Topic of records about requests that the API server refused because of their rate. */
export const REFUSED = "refused";

/** Topic of records about writes that admission or a quota refused. */
export const REFUSED_WRITE = "refused-write";

/** Topic of 401s with which the kubelet answered the pod's own requests. It rejects all tokens if it is set up wrongly. */
export const KUBELETS_401 = "kubelets-401";

/** A request that the API server answered 403: names that were checked, and no log text. */
export interface DeniedRequest {
  /** The ServiceAccount that made it. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  readonly verb: string;
  /** With the subresource, such as `pods/eviction`. */
  readonly resource: string;
  /** Empty: the core group. */
  readonly group: string;
  /** Absent: in all namespaces, or of the cluster. */
  readonly namespace?: string;
}

/** Returns the topic of a denied request. */
export function topicOf(request: DeniedRequest): string {
  return JSON.stringify(request);
}

/** Returns the denied request of a topic; undefined if the topic is another. */
export function deniedOf(topic: string): DeniedRequest | undefined {
  return topic.startsWith("{") ? (JSON.parse(topic) as DeniedRequest) : undefined;
}

/**
 * Denied requests of one log that are followed, far more than a working program has. Those for Leases have room of their own, and other
 * topics, of which there are a few, always have room: they hold back restarts that can't help.
 */
const MAX_DENIED = 32;
const MAX_DENIED_LEASES = 16;

/** The 401s of one container's log, and its other records of interest by topic. Immutable. */
export class Traces {
  static readonly NONE = new Traces(NO_TRACE, new Map());

  private constructor(
    readonly unauthorized: UnauthorizedTrace,
    readonly topics: ReadonlyMap<string, UnauthorizedTrace>,
    /** End of the last part that was not read. */
    private readonly skippedUntilMs = -Infinity,
  ) {}

  /** Adds a line of any kind. */
  withLine(atMs: number, life: number): Traces {
    return this.#each(trace => withLine(trace, atMs, life));
  }

  /** Adds a part that was not read. */
  withGap(atMs: number): Traces {
    return this.#each(trace => withGap(trace, atMs), atMs);
  }

  /** Adds a 401, or a record of another topic. */
  withRecord(atMs: number, life: number, topic?: string): Traces {
    const { skippedUntilMs } = this;
    if (topic === undefined)
      return new Traces(withUnauthorized(this.unauthorized, atMs, life), this.topics, skippedUntilMs);
    const topics = new Map(this.topics);
    const before = topics.get(topic) ?? { ...makeRoom(topics, topic), skippedUntilMs };
    return new Traces(this.unauthorized, topics.set(topic, withUnauthorized(before, atMs, life)), skippedUntilMs);
  }

  #each(change: (trace: UnauthorizedTrace) => UnauthorizedTrace, skippedUntilMs = this.skippedUntilMs): Traces {
    const topics = Array.from(this.topics, ([topic, trace]) => [topic, change(trace)] as const);
    return new Traces(
      change(this.unauthorized),
      this.topics.size === 0 ? this.topics : new Map(topics),
      skippedUntilMs,
    );
  }
}

/** Drops the denied request that is silent for the longest time if there are too many. Returns the trace that a new topic begins with. */
function makeRoom(topics: Map<string, UnauthorizedTrace>, topic: string): UnauthorizedTrace {
  const resource = deniedOf(topic)?.resource;
  if (resource === undefined) return NO_TRACE;
  const isForLeases = resource === "leases";
  const rivals = Array.from(topics).filter(([other]) => {
    const denied = deniedOf(other);
    return denied !== undefined && (denied.resource === "leases") === isForLeases;
  });
  if (rivals.length < (isForLeases ? MAX_DENIED_LEASES : MAX_DENIED)) return NO_TRACE;
  const [silent] = rivals.toSorted(([, a], [, b]) => lastMs(a) - lastMs(b));
  if (silent !== undefined) topics.delete(silent[0]);
  // There is always one too many from now on, so the new one may have been dropped before.
  return { ...NO_TRACE, isStartUnknown: true };
}

function lastMs({ occasions }: UnauthorizedTrace): number {
  return occasions.at(-1)?.endMs ?? -Infinity;
}
