import type { RestartStatus } from "../../../api/controller-resilience";
import { isOpen } from "../../../core/restarts/budget";
import { CLOCK_SKEW_MS } from "../../../core/time";
import {
  activePodsOf,
  isBounded,
  type Observed,
  type ObservedDaemonSet,
  type ObservedPod,
  type Spec,
} from "../observed";
import { workloadOf } from "./intents";

/** A younger request may still be executed: the operator's view of pods is up to 240 s old. In milliseconds. */
const IN_FLIGHT_MS = 300_000;

/** A successor that is Ready for this long counts as recovered, in milliseconds. */
const SETTLED_MS = 30_000;

/** A restart without a recovered successor after this time is ineffective, in milliseconds. */
const INEFFECTIVE_AFTER_MS = 600_000;

/** Updates the outcomes of this remedy's restarts. Pure: history in, history out. */
export function settleRestarts(observed: Observed, spec: Spec, nowMs: number): RestartStatus[] {
  return observed.restarts.flatMap(entry => {
    if (!isOpen(entry)) return [entry];
    const daemonSet = observed.daemonSets.find(({ view }) => workloadOf(view) === entry.workload);
    const settled = entry.outcome === "Requested" ? settleRequest(entry, daemonSet, nowMs) : entry;
    if (settled?.outcome !== "Restarted") return settled ?? [];
    return [{ ...settled, outcome: outcomeOf(settled, daemonSet, spec, nowMs) }];
  });
}

/** A request that a crash left behind: executed, in flight, or (undefined) never executed. */
function settleRequest(
  entry: RestartStatus,
  daemonSet: ObservedDaemonSet | undefined,
  nowMs: number,
): RestartStatus | undefined {
  const isAlive = daemonSet !== undefined && activePodsOf(daemonSet).some(({ pod }) => pod.uid === entry.podUID);
  if (!isAlive) return { ...entry, outcome: "Restarted" };
  return ageMs(entry, nowMs) < IN_FLIGHT_MS ? entry : undefined;
}

function outcomeOf(
  entry: RestartStatus,
  daemonSet: ObservedDaemonSet | undefined,
  spec: Spec,
  nowMs: number,
): RestartStatus["outcome"] {
  const successor = daemonSet && successorOf(entry, daemonSet);
  if (daemonSet !== undefined && successor !== undefined) {
    if (hasFailed(successor, daemonSet, spec)) return "Ineffective";
    if (hasRecovered(successor, spec, nowMs)) return "Recovered";
  }
  return ageMs(entry, nowMs) < INEFFECTIVE_AFTER_MS ? "Restarted" : "Ineffective";
}

/** The first pod that was created after the restart: the operator replaces one pod at a time. */
function successorOf(entry: RestartStatus, daemonSet: ObservedDaemonSet): ObservedPod | undefined {
  // Creation timestamps have whole seconds.
  const fromMs = Math.floor(Date.parse(entry.time) / 1000) * 1000 - CLOCK_SKEW_MS;
  return activePodsOf(daemonSet)
    .filter(({ pod }) => pod.uid !== entry.podUID && pod.createdAtMs >= fromMs)
    .toSorted((a, b) => a.pod.createdAtMs - b.pod.createdAtMs)[0];
}

/** It gets 401 responses, or its token is still too long although the policy exists. */
function hasFailed({ pod, logState }: ObservedPod, { record }: ObservedDaemonSet, spec: Spec): boolean {
  const isPolicyGone = record?.outcome === "Reverting" || record?.outcome === "Reverted";
  return logState === "persistent" || (!isPolicyGone && !isBounded(pod, spec));
}

function hasRecovered({ pod, logState }: ObservedPod, spec: Spec, nowMs: number): boolean {
  const isQuiet = logState === "quiet" || (logState === "unread" && !spec.revertOnUnauthorized);
  return pod.ready && nowMs >= (pod.readySinceMs ?? pod.createdAtMs) + SETTLED_MS && isQuiet;
}

/** An invalid time counts as long ago, so that it blocks nothing. */
function ageMs({ time }: RestartStatus, nowMs: number): number {
  const ms = nowMs - Date.parse(time);
  return Number.isNaN(ms) ? Infinity : ms;
}
