import { Cause } from "../../api/conditions";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { RestartClaim } from "../../core/intent";
import type { PendingRestart } from "../../core/remedy";
import { count, workloadId } from "../../core/text";
import { countPresent, restartsOf } from "../../restarts/history";
import { barOf, isExhausted, type LimitedWorkload, limitOf, ordinalIn } from "../../restarts/limits";
import {
  causeOf,
  isBySandbox,
  isRejected,
  isStale,
  type TokenCause,
  type Observed,
  type ObservedPod,
  type PodLogs,
  type ObservedWorkload,
} from "./observed";
import { podClaim, refusedRestart } from "../../restarts/claims";
import { limitsOf } from "../kit/restarting";
import { notWitnessed } from "./witness";

// Which pod of a workload is restarted next, and why. Pure.

/** What the workloads of a pass share. */
interface Context {
  readonly observed: Observed;
  readonly spec: TokenRestartSpec;
  readonly now: Date;
  readonly pending: readonly PendingRestart[];
}

/** One workload with everything that the checks need. */
export interface WorkloadState extends Context, LimitedWorkload {
  readonly workload: ObservedWorkload;
  /** Pods with sufficient evidence for a restart. */
  readonly rejected: readonly ObservedPod[];
  /** `Deployment/web: 2 of 3 pods rejected` */
  readonly share: string;
  /** The pod that is restarted next. Absent: no restart would help, or may. */
  readonly next: Candidate | undefined;
}

/** A rejected pod that the operator may restart, and that a restart can heal. */
export interface Candidate {
  readonly pod: ObservedPod;
  readonly claim: TokenClaim;
}

/** Claim of a restart by this remedy. */
export type TokenClaim = RestartClaim & { readonly cause: TokenCause };

/** Finds out which pod of a workload is next. `restarts` have the outcomes known now. */
export function stateOf(
  workload: ObservedWorkload,
  restarts: readonly RestartStatus[],
  context: Context,
): WorkloadState {
  const { view, pods, rolloutSinceMs } = workload;
  const rejected = pods.filter(isRejected);
  const limited: LimitedWorkload = {
    ...{ view, rolloutSinceMs, maxUnavailable: limitsOf(context.spec).maxUnavailable },
    pods: pods.map(pod => ({ view: pod.view, isDead: pod.proof !== undefined && isRejected(pod) })),
    history: restartsOf(workloadId(view), restarts),
    ...{ pending: context.pending, now: context.now },
  };
  const healable = rejected.filter(pod => barOf(pod, view) === undefined && canHeal(pod));
  const candidates = healable.map(pod => ({ pod, claim: claimFor(pod, workload, context.spec) }));
  const share = `${workloadId(view)}: ${rejected.length} of ${count(countPresent(pods), "pod")} rejected`;
  const state = { ...context, ...limited, workload, rejected, share };
  return { ...state, next: nextOf(candidates, state) };
}

/**
 * The candidate that is replaced first: one whose restarts are not used up, and whose restart the API server has not just refused, on a
 * node that answers, with fresh evidence that the API servers do not contradict, with proof, not Ready, of a StatefulSet that of the lowest number, oldest.
 * So a pod that cannot be healed does not keep the others waiting. If a limit holds it back, one that is not Ready has its turn, whose restart takes no
 * further pod down.
 */
function nextOf(candidates: readonly Candidate[], workload: Omit<WorkloadState, "next">): Candidate | undefined {
  const rank = ({ pod, claim }: Candidate): readonly number[] => [
    Number(isExhausted(claim, workload.history, workload.now)),
    Number(refusedRestart(pod.view, workload) !== undefined),
    Number(pod.view.nodeUnreachable === true),
    Number(isStale(pod) || notWitnessed({ ...workload, next: { pod, claim } }) !== undefined),
    Number(pod.proof === undefined),
    Number(pod.view.ready),
    ordinalIn(workload.view, pod.view.name),
    pod.view.createdAtMs,
  ];
  const ranked = candidates
    .map(candidate => ({ candidate, rank: rank(candidate), name: candidate.pod.view.name }))
    .toSorted((a, b) => byRank(a.rank, b.rank) || (a.name < b.name ? -1 : 1))
    .map(({ candidate }) => candidate);
  const [first] = ranked;
  const down = ranked.find(({ pod }) => !pod.view.ready);
  const isHeld = ({ pod, claim }: Candidate): boolean => limitOf(pod.view, claim, workload) !== undefined;
  return first && down && isHeld(first) && !isHeld(down) ? down : first;
}

function byRank(a: readonly number[], b: readonly number[]): number {
  return a.map((value, i) => value - (b[i] ?? 0)).find(difference => difference !== 0) ?? 0;
}

/** Reports whether a new pod would get another token. */
export function canHeal(pod: ObservedPod): boolean {
  // The pod mounts no known token for the API server, and nothing proves that a token of it is invalid.
  const hasNothingToRenew = pod.view.mountsToken === false && causeOf(pod) === Cause.Unknown;
  return pod.serviceAccount === "present" && !hasNothingToRenew;
}

function claimFor(pod: ObservedPod, workload: ObservedWorkload, spec: TokenRestartSpec): TokenClaim {
  const { view, proof, logs } = pod;
  const cause = causeOf(pod);
  const container = isBySandbox(pod) ? undefined : condemnedContainer(pod);
  return {
    ...podClaim(workload, view),
    cause,
    ...(container !== undefined && { container }),
    ...(proof?.serviceAccountUID !== undefined && { serviceAccountUID: proof.serviceAccountUID }),
    // Nothing shows that it ever worked if its 401s are older than what was read.
    ...(cause === Cause.Unknown && { workedMs: (logs.beganMs ?? view.createdAtMs) - view.createdAtMs }),
    limits: limitsOf(spec),
  };
}

/** The container whose log has the 401s of the pod. */
function condemnedContainer({ logs, byContainer = new Map<string, PodLogs>() }: ObservedPod): string | undefined {
  const [name] = [...byContainer].find(([, alone]) => alone.logs.lastMs === logs.lastMs) ?? [];
  return logs.occasions === 0 ? undefined : name;
}
