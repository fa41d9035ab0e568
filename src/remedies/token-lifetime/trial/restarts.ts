import type { RestartStatus } from "../../../api/controller-resilience";
import { isCreatedAfter, settleOpenRestarts } from "../../../core/restarts";
import {
  activePodsOf,
  isBounded,
  type Observed,
  type ObservedDaemonSet,
  type ObservedPod,
  type Spec,
} from "../observed";
import { workloadOf } from "../intents";

// The rules for an executed restart differ from those of token-restart: the pod was healthy, so a successor that has not recovered in
// time counts as harm, and the operator replaces no more pods.

/** A successor that is Ready for this long counts as recovered, in milliseconds. */
const SETTLED_MS = 30_000;

/** A restart without a recovered successor after this time is ineffective, in milliseconds. */
const INEFFECTIVE_AFTER_MS = 600_000;

/** Updates the outcomes of this remedy's restarts. Pure: history in, history out. */
export function settleRestarts(observed: Observed, spec: Spec, nowMs: number): RestartStatus[] {
  const daemonSetOf = ({ workload }: RestartStatus): ObservedDaemonSet | undefined =>
    observed.daemonSets.find(({ view }) => workloadOf(view) === workload);
  const evidence = {
    wasExecuted: (entry: RestartStatus) => !isAlive(entry, daemonSetOf(entry)),
    outcomeOf: (entry: RestartStatus) => outcomeOf(entry, daemonSetOf(entry), spec, nowMs),
  };
  return settleOpenRestarts(observed.restarts, evidence, nowMs);
}

function isAlive({ podUID }: RestartStatus, daemonSet: ObservedDaemonSet | undefined): boolean {
  return daemonSet !== undefined && activePodsOf(daemonSet).some(({ pod }) => pod.uid === podUID);
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
    if (hasRecovered(successor, nowMs)) return "Recovered";
  }
  return ageMs(entry, nowMs) < INEFFECTIVE_AFTER_MS ? "Restarted" : "Ineffective";
}

/** The first pod that was created after the restart: the operator replaces one pod at a time. */
function successorOf(entry: RestartStatus, daemonSet: ObservedDaemonSet): ObservedPod | undefined {
  return activePodsOf(daemonSet)
    .filter(({ pod }) => pod.uid !== entry.podUID && isCreatedAfter(pod.createdAtMs, entry))
    .toSorted((a, b) => a.pod.createdAtMs - b.pod.createdAtMs)[0];
}

/** It gets 401 responses, or its token is still too long although the template is changed. */
function hasFailed({ pod, logState }: ObservedPod, { record }: ObservedDaemonSet, spec: Spec): boolean {
  const isReverted = record?.outcome === "Reverting" || record?.outcome === "Reverted";
  return logState === "persistent" || (!isReverted && !isBounded(pod, spec));
}

function hasRecovered({ pod, logState }: ObservedPod, nowMs: number): boolean {
  return pod.ready && nowMs >= (pod.readySinceMs ?? pod.createdAtMs) + SETTLED_MS && logState === "quiet";
}

/** An invalid time counts as long ago, so that it blocks nothing. */
function ageMs({ time }: RestartStatus, nowMs: number): number {
  const ms = nowMs - Date.parse(time);
  return Number.isNaN(ms) ? Infinity : ms;
}
