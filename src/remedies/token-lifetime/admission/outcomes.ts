import { CLOCK_SKEW_MS } from "../../../core/time";
import type { RestartStatus } from "../../../api/controller-resilience";
import { isOpen } from "../../../core/restarts/budget";
import { isBounded, livingOf, type DaemonSetFacts, type PodFacts, type Spec, type TokenLifetimeFacts } from "../facts";
import { workloadOf } from "./build";

// What became of the pods that were replaced. Pure: history in, history out.

/** A request as young as this may have been carried out all the same: what is known of pods is up to 240 s old. In milliseconds. */
const IN_FLIGHT_MS = 300_000;

/** A successor that is Ready for this long is well, as far as can be told this early. */
const SETTLED_MS = 30_000;

/** A replacement without success for this long has not helped. */
const IN_VAIN_MS = 600_000;

/** The entries after a look at the pods. */
export function settleReplacements(facts: TokenLifetimeFacts, spec: Spec, nowMs: number): RestartStatus[] {
  return facts.restarts.flatMap(entry => {
    if (!isOpen(entry)) return [entry];
    const own = facts.daemonSets.find(({ view }) => workloadOf(view) === entry.workload);
    const carriedOut = entry.outcome === "Requested" ? carryOut(entry, own, nowMs) : entry;
    if (carriedOut?.outcome !== "Restarted") return carriedOut ?? [];
    return [{ ...carriedOut, outcome: judge(carriedOut, own, spec, nowMs) }];
  });
}

/** A request that a crash left behind: carried out, still under way, or (undefined) never carried out. */
function carryOut(entry: RestartStatus, own: DaemonSetFacts | undefined, nowMs: number): RestartStatus | undefined {
  const isAlive = own !== undefined && livingOf(own).some(({ pod }) => pod.uid === entry.podUID);
  if (!isAlive) return { ...entry, outcome: "Restarted" };
  return ageMs(entry, nowMs) < IN_FLIGHT_MS ? entry : undefined;
}

function judge(
  entry: RestartStatus,
  own: DaemonSetFacts | undefined,
  spec: Spec,
  nowMs: number,
): RestartStatus["outcome"] {
  const successor = own && successorOf(entry, own);
  if (own !== undefined && successor !== undefined) {
    if (isInVain(successor, own, spec)) return "Ineffective";
    if (isWell(successor, spec, nowMs)) return "Recovered";
  }
  return ageMs(entry, nowMs) < IN_VAIN_MS ? "Restarted" : "Ineffective";
}

/** The first that came after it: one pod is replaced at a time. */
function successorOf(entry: RestartStatus, own: DaemonSetFacts): PodFacts | undefined {
  // Pods carry the whole second of their creation.
  const fromMs = Math.floor(Date.parse(entry.time) / 1000) * 1000 - CLOCK_SKEW_MS;
  return livingOf(own)
    .filter(({ pod }) => pod.uid !== entry.podUID && pod.createdAtMs >= fromMs)
    .toSorted((a, b) => a.pod.createdAtMs - b.pod.createdAtMs)[0];
}

/** Its token is as long as before, or it is answered 401; where the policy was taken away, only that counts. */
function isInVain({ pod, verdict }: PodFacts, { record }: DaemonSetFacts, spec: Spec): boolean {
  const isTakenAway = record?.outcome === "Reverting" || record?.outcome === "Reverted";
  return verdict === "persistent" || (!isTakenAway && !isBounded(pod, spec));
}

function isWell({ pod, verdict }: PodFacts, spec: Spec, nowMs: number): boolean {
  const isQuiet = verdict === "quiet" || (verdict === "unread" && !spec.revertOnUnauthorized);
  return pod.ready && nowMs >= (pod.readySinceMs ?? pod.createdAtMs) + SETTLED_MS && isQuiet;
}

/** A time that can't be read is long ago, so that it holds nothing up. */
function ageMs({ time }: RestartStatus, nowMs: number): number {
  const ms = nowMs - Date.parse(time);
  return Number.isNaN(ms) ? Infinity : ms;
}
