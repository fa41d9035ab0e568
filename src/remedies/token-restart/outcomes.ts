import { CLOCK_SKEW_MS } from "../../core/time";
import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { isOpen } from "../../core/restarts/budget";
import { isRejected, type PodFacts, type WorkloadFacts } from "./facts";

// What became of the restarts in status. Pure: history in, history out.

/**
 * A request as young as this may have been carried out all the same: its answer was lost, and what is known of the pods is
 * up to 240 s old (the longest silence of a watch) and may be stamped by another clock.
 */
const IN_FLIGHT_MS = 300_000;

/** A successor without a 401 for this long after it became Ready has a good token, where the dead one was proven. */
const SETTLED_PROVEN_MS = 30_000;

/** ... and where it was not: the slowest of clients log a 401 every 30 to 60 s. */
const SETTLED_MS = 90_000;

/** A pod that is still there after this long was not replaced, such as one of a DaemonSet with the update strategy OnDelete. */
const NOT_REPLACED_MS = 600_000;

/** A restart that nobody can tell anything of for this long has not helped, so that it does not hold up others for ever. */
const UNKNOWN_MS = 600_000;

/** Without a recognisable successor (the workload was scaled down): all its pods being well for this long will do. */
const NO_SUCCESSOR_MS = 120_000;

/** A rollout goes on as long as its pods come and go: with none for this long it is stuck, */
const ROLLOUT_STUCK_MS = 600_000;

/** ... and this is the longest one that is waited for. */
const ROLLOUT_LONGEST_MS = 7_200_000;

/** The annotation of a rollout is made up before its entry, by no more than the writes of other intents take. */
const WRITTEN_WITHIN_MS = 60_000;

/** How restarts are brought about, as far as it matters for what comes after. */
export interface Strategy {
  readonly isRollout: boolean;
}

/** The entries of this workload after a look at its pods; those of others are not among them. */
export function settleRestarts(
  entries: readonly RestartStatus[],
  facts: WorkloadFacts,
  strategy: Strategy,
  nowMs: number,
): RestartStatus[] {
  const settled: RestartStatus[] = [];
  const taken = new Set<string>();
  for (const entry of entries) {
    const carriedOut = entry.outcome === "Requested" ? carryOut(entry, facts, strategy, nowMs) : entry;
    if (carriedOut === undefined) continue;
    settled.push(
      carriedOut.outcome === "Restarted" ? judgeRestart(carriedOut, { facts, strategy, nowMs, taken }) : carriedOut,
    );
  }
  return settled;
}

/** A request that a crash left behind: carried out, still under way, or (undefined) never carried out. */
function carryOut(
  entry: RestartStatus,
  facts: WorkloadFacts,
  strategy: Strategy,
  nowMs: number,
): RestartStatus | undefined {
  if ((strategy.isRollout && wasRolled(entry, facts)) || !isAlive(entry, facts))
    return { ...entry, outcome: "Restarted" };
  return nowMs - Date.parse(entry.time) < IN_FLIGHT_MS ? entry : undefined;
}

interface Case {
  readonly facts: WorkloadFacts;
  readonly strategy: Strategy;
  readonly nowMs: number;
  /** Successors that stand for an earlier restart. */
  readonly taken: Set<string>;
}

function judgeRestart(entry: RestartStatus, given: Case): RestartStatus {
  if (isStuck(entry, given)) return { ...entry, outcome: "Ineffective" };
  if (!given.strategy.isRollout && isAlive(entry, given.facts)) return entry;
  const successors = successorsOf(entry, given);
  if (successors.some(pod => isRejectedAgain(pod, entry))) return { ...entry, outcome: "Ineffective" };
  if (hasHelped(entry, successors, given)) return { ...entry, outcome: "Recovered" };
  const isBlind = successors.every(pod => !canJudge(pod, entry));
  return isBlind ? settleUnwatched(entry, given.nowMs) : entry;
}

/** An entry that no pod can be held against, such as one of a workload that is no longer a target. */
export function settleUnwatched(entry: RestartStatus, nowMs: number): RestartStatus {
  const isForgotten = isOpen(entry) && nowMs - Date.parse(entry.time) >= UNKNOWN_MS;
  return isForgotten ? { ...entry, outcome: "Ineffective" } : entry;
}

/** It was asked for, and what should have gone by now is still there. */
function isStuck(entry: RestartStatus, { facts, strategy, nowMs }: Case): boolean {
  const ageMs = nowMs - Date.parse(entry.time);
  if (!strategy.isRollout) return isAlive(entry, facts) && ageMs >= NOT_REPLACED_MS;
  if (!hasOlder(entry, facts)) return false;
  return ageMs >= ROLLOUT_LONGEST_MS || nowMs - lastProgress(entry, facts) >= ROLLOUT_STUCK_MS;
}

/** When the rollout was last seen to get on: a pod came, became Ready, or began to go. */
function lastProgress(entry: RestartStatus, facts: WorkloadFacts): number {
  const steps = facts.pods.flatMap(({ pod }) =>
    isYounger(pod.createdAtMs, entry) ? [pod.createdAtMs, pod.readySinceMs ?? 0] : [pod.deletedAtMs ?? 0],
  );
  return Math.max(Date.parse(entry.time), ...steps);
}

/** Whether the rollout of this entry has yet to reach a pod, or never will (OnDelete, a partition, a paused Deployment). */
function hasOlder(entry: RestartStatus, { pods }: WorkloadFacts): boolean {
  return pods.some(({ pod }) => pod.deletedAtMs === undefined && !isYounger(pod.createdAtMs, entry));
}

function hasHelped(entry: RestartStatus, successors: readonly PodFacts[], given: Case): boolean {
  const { facts, strategy, nowMs } = given;
  if (isAlive(entry, facts) || (strategy.isRollout && hasOlder(entry, facts))) return false;
  const accepted = (pod: PodFacts): boolean => isAccepted(pod, entry, nowMs);
  if (successors.length > 0) return successors.every(accepted);
  return nowMs - Date.parse(entry.time) >= NO_SUCCESSOR_MS && isWell(facts, accepted);
}

/**
 * The last rollout, if it is over without having reached this pod: another would not reach it either.
 * Told from an eviction of an earlier spec by the annotation that it left.
 */
export function rolloutThatMissed(
  pod: PodFacts["pod"],
  facts: WorkloadFacts,
  history: readonly RestartStatus[],
): RestartStatus | undefined {
  const last = history.at(-1);
  const isOverInVain = last?.outcome === "Ineffective" && wasRolled(last, facts);
  return isOverInVain && !isYounger(pod.createdAtMs, last) ? last : undefined;
}

function wasRolled(entry: RestartStatus, { workload }: WorkloadFacts): boolean {
  return (workload.restartedAtMs ?? -Infinity) >= Date.parse(entry.time) - WRITTEN_WITHIN_MS;
}

/** Evict: one pod, of the same name if it is a StatefulSet's. RolloutRestart: all that came after. */
function successorsOf(entry: RestartStatus, { facts, strategy, taken }: Case): PodFacts[] {
  const younger = facts.pods.filter(
    ({ pod }) => pod.deletedAtMs === undefined && pod.uid !== entry.podUID && isYounger(pod.createdAtMs, entry),
  );
  if (strategy.isRollout) return younger;
  const named = facts.workload.kind === "StatefulSet" ? younger.filter(({ pod }) => pod.name === entry.pod) : younger;
  const [first] = named
    .filter(({ pod }) => !taken.has(pod.uid))
    .sort((a, b) => a.pod.createdAtMs - b.pod.createdAtMs || (a.pod.uid < b.pod.uid ? -1 : 1));
  if (first === undefined) return [];
  taken.add(first.pod.uid);
  return [first];
}

/** Not if its ServiceAccount was recreated once more since: that is another incident. */
function isRejectedAgain(facts: PodFacts, entry: RestartStatus): boolean {
  const isOtherIncident = facts.proof !== undefined && facts.proof.serviceAccountUID !== entry.serviceAccountUID;
  return isRejected(facts) && !isOtherIncident;
}

/** Nothing is known of a successor's node while its Events can't be read, or are no evidence any more. */
function canJudge({ sandbox }: PodFacts, { cause }: RestartStatus): boolean {
  return cause !== Cause.CniCredentialRejected || sandbox !== undefined;
}

/** Ready for long enough, without a 401 since, and its log was read since. One that another incident killed was well before. */
function isAccepted(facts: PodFacts, entry: RestartStatus, nowMs: number): boolean {
  if (isRejected(facts)) return true;
  const readyMs = facts.pod.readySinceMs ?? facts.pod.createdAtMs;
  const settledMs = readyMs + (entry.cause === Cause.ServiceAccountRecreated ? SETTLED_PROVEN_MS : SETTLED_MS);
  if (!facts.pod.ready || nowMs < settledMs) return false;
  const wasRead = facts.unreadable || (facts.readMs ?? -Infinity) >= settledMs;
  return wasRead && canJudge(facts, entry) && isQuietSince(facts, readyMs);
}

function isQuietSince({ verdict, sandbox }: PodFacts, ms: number): boolean {
  return [verdict, sandbox].every(one => one === undefined || one.state === "quiet" || (one.lastMs ?? 0) < ms);
}

function isWell(facts: WorkloadFacts, accepted: (pod: PodFacts) => boolean): boolean {
  const present = facts.pods.filter(({ pod }) => pod.deletedAtMs === undefined);
  return present.length >= facts.workload.replicas && present.every(pod => !isRejected(pod) && accepted(pod));
}

function isAlive(entry: RestartStatus, facts: WorkloadFacts): boolean {
  return facts.pods.some(({ pod }) => pod.uid === entry.podUID && pod.deletedAtMs === undefined);
}

/** Pods carry the whole second of their creation. */
function isYounger(createdAtMs: number, entry: RestartStatus): boolean {
  return createdAtMs >= Math.floor(Date.parse(entry.time) / 1000) * 1000 - CLOCK_SKEW_MS;
}
