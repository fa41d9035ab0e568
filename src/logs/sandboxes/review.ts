import { ForbiddenError, TransientError } from "../../core/errors";
import type { Key } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { PodView, SandboxEventView } from "../../core/views";
import type { PersistenceRule } from "../persistence";
import type { PodLogState } from "../pod-log-review";
import { canBeAgent, failuresSince } from "./failures";
import { SandboxTraces } from "./traces";

/** Reviews the sandbox failures on the nodes of CNI agents, for remedies whose own evidence is something else. */
export interface SandboxReview {
  /**
   * Returns the state of each pod that can be a CNI agent, by uid; `unread` until the Events were watched for two minutes, `unreadable`
   * without the right to read them.
   */
  review(key: Key, pods: readonly PodView[], readers: Readers): Promise<ReadonlyMap<string, PodLogState>>;
  /** Forgets the failures noted for a deleted object. */
  forget(key: Key): void;
}

/** The defaults of tokenRestart. */
const RULE: PersistenceRule = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };

/** The kubelet tries again every 10 to 15 seconds, so this long without an Event means that pods start, or that none is to start. */
const WATCHED_MS = 120_000;

/** A review without a successor for this long is over: what happened since is not known, in milliseconds. */
const MAX_GAP_MS = 300_000;

interface Watched {
  readonly traces: SandboxTraces;
  readonly sinceMs: number;
  lastMs: number;
}

/** Creates a review with the persistence rule of tokenRestart. */
export function createSandboxReview(): SandboxReview {
  const watches = new Map<Key, Watched>();

  const watchOf = (key: Key, nowMs: number): Watched => {
    const known = watches.get(key);
    const isCurrent = known !== undefined && nowMs - known.lastMs <= MAX_GAP_MS;
    const watch = isCurrent ? known : { traces: new SandboxTraces(), sinceMs: nowMs, lastMs: nowMs };
    watches.set(key, watch);
    watch.lastMs = nowMs;
    return watch;
  };

  return {
    async review(key, pods, readers): Promise<ReadonlyMap<string, PodLogState>> {
      const agents = pods.filter(canBeAgent);
      const [first] = agents;
      if (first === undefined) return new Map();
      const events = await read(first.namespace, readers);
      if (typeof events === "string") return new Map(agents.map(({ uid }) => [uid, events]));
      const nowMs = readers.clock.now().getTime();
      const { traces, sinceMs } = watchOf(key, nowMs);
      traces.take(events, RULE.windowMs, nowMs);
      traces.seeAgents(agents, nowMs);
      const isWatched = nowMs - sinceMs >= WATCHED_MS;
      return new Map(agents.map(pod => [pod.uid, stateOf(pod, traces, isWatched, nowMs)]));
    },

    forget: key => void watches.delete(key),
  };
}

function stateOf(pod: PodView, traces: SandboxTraces, isWatched: boolean, nowMs: number): PodLogState {
  const { namespace, nodeName = "" } = pod;
  const { state } = failuresSince(traces.readySince([pod]), {
    failures: traces.of(nodeName),
    namespace,
    rule: RULE,
    nowMs,
  });
  return state === "quiet" && !isWatched ? "unread" : state;
}

/** The Events, or the state of every agent while they cannot be read. */
async function read(
  namespace: string,
  readers: Readers,
): Promise<readonly SandboxEventView[] | "unread" | "unreadable"> {
  try {
    return await readers.sandboxEvents(namespace);
  } catch (error) {
    if (error instanceof ForbiddenError) return "unreadable";
    if (error instanceof TransientError) return "unread";
    throw error;
  }
}
