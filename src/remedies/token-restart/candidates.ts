import { Cause } from "../../api/conditions";
import type { RestartStatus, TargetStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { parseDuration } from "../../core/duration";
import type { RestartClaim, RestartLimits } from "../../core/intent";
import type { PendingWrite } from "../../core/remedy";
import { isUnproven } from "../../core/restarts";
import type { TokenCause } from "./cause";
import { isUpgradeDeferred } from "./deferred-upgrade";
import { isUsedUp } from "./exhausted";
import {
  isBySandbox,
  isRejected,
  isStale,
  workloadId,
  type ObservedPod,
  type Observed,
  type ObservedWorkload,
} from "./observed";

// Which pod of a workload is restarted next, and why. Pure.

/** One workload with everything that the checks need. */
export interface WorkloadState {
  readonly observed: Observed;
  readonly workload: ObservedWorkload;
  readonly spec: TokenRestartSpec;
  /** Restarts of the workload, with the outcomes known now. */
  readonly history: readonly RestartStatus[];
  /** The workload's entry in status.targets. */
  readonly previous: TargetStatus | undefined;
  /** An earlier generation used up the restarts. The new generation forgives them; only their cooldown still counts. */
  readonly isCooling: boolean;
  readonly rejected: readonly ObservedPod[];
  readonly now: Date;
  readonly pending: readonly PendingWrite[];
}

/** Pods with sufficient evidence for a restart. A log that will be read within moments may contradict it. */
export function rejectedPods({ pods }: ObservedWorkload): ObservedPod[] {
  return pods.filter(pod => pod.isNew !== true && isRejected(pod));
}

/** Rejected pods that the operator may restart, and that a restart can heal. */
export function candidatesOf(state: WorkloadState): ObservedPod[] {
  return state.rejected.filter(pod => isHealable(pod) && !isUpgradeDeferred(pod.view, state.workload.view));
}

/** Reports whether a restart can heal a rejected pod: no skip annotation protects it, and it is not the operator's own. */
export function isHealable(pod: ObservedPod): boolean {
  return !pod.view.skip && pod.isOperator !== true && pod.serviceAccount === "present" && !hasNothingToRenew(pod);
}

/** The pod mounts no known token for the API server, and nothing proves that a token of it is invalid. */
function hasNothingToRenew(pod: ObservedPod): boolean {
  return pod.view.mountsToken === false && isUnproven({ cause: causeFor(pod) });
}

/**
 * The candidate that is replaced first: one whose restarts are not used up, and whose restart the API server has not just refused, on a
 * node that answers, with fresh evidence, with proof, not Ready, oldest. So a pod that cannot be healed does not keep the others waiting.
 */
export function nextCandidate(state: WorkloadState): ObservedPod | undefined {
  const rank = (pod: ObservedPod): readonly number[] => [
    Number(!state.isCooling && isUsedUp(claimFor(pod, state), state, state.observed.generation)),
    Number(refusedRestart(pod, state) !== undefined),
    Number(pod.view.nodeUnreachable === true),
    Number(isStale(pod)),
    Number(pod.proof === undefined),
    Number(pod.view.ready),
    pod.view.createdAtMs,
  ];
  const ranked = candidatesOf(state).map(pod => ({ pod, rank: rank(pod) }));
  ranked.sort((a, b) => byRank(a.rank, b.rank) || (a.pod.view.name < b.pod.view.name ? -1 : 1));
  return ranked[0]?.pod;
}

function byRank(a: readonly number[], b: readonly number[]): number {
  return a.map((value, i) => value - (b[i] ?? 0)).find(difference => difference !== 0) ?? 0;
}

/** The last restart of this pod that the API server refused or failed, while it is in backoff. */
export function refusedRestart(pod: ObservedPod, state: WorkloadState): PendingWrite | undefined {
  return state.pending.find(({ restart, outcome, untilMs }) => {
    const isFailed = outcome.result === "Blocked" || outcome.result === "Failed";
    return restart?.podUID === pod.view.uid && isFailed && untilMs > state.now.getTime();
  });
}

/** Claim of a restart by this remedy. */
export type TokenClaim = RestartClaim & { readonly cause: TokenCause };

/** The claim of the next candidate's restart. */
export function nextClaim(state: WorkloadState): TokenClaim | undefined {
  const candidate = nextCandidate(state);
  return candidate && claimFor(candidate, state);
}

function claimFor(candidate: ObservedPod, state: WorkloadState): TokenClaim {
  const { view, proof } = candidate;
  const cause = causeFor(candidate);
  return {
    workload: workloadId(state.workload.view),
    pod: view.name,
    podUID: view.uid,
    ...(state.workload.view.kind === "DaemonSet" && view.nodeName !== undefined ? { nodeName: view.nodeName } : {}),
    cause,
    ...(proof?.serviceAccountUID === undefined ? {} : { serviceAccountUID: proof.serviceAccountUID }),
    podCreatedAtMs: view.createdAtMs,
    maxOpen: state.spec.maxUnavailable,
    limits: limitsOf(state.spec),
  };
}

/** The restart budget of each workload. */
export function limitsOf(spec: TokenRestartSpec): RestartLimits {
  return {
    cooldownMs: parseDuration(spec.cooldown),
    maxRestarts: spec.maxRestarts,
  };
}

function causeFor(pod: ObservedPod): TokenCause {
  if (isBySandbox(pod)) return Cause.CniCredentialRejected;
  if (pod.serviceAccount === "missing") return Cause.ServiceAccountMissing;
  return pod.proof?.cause ?? Cause.Unknown;
}
