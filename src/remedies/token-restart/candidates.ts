import { Cause } from "../../api/conditions";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { RestartClaim } from "../../core/intent";
import type { PendingWrite } from "../../core/remedy";
import { workloadId } from "../../core/text";
import { restartsOf } from "../../restarts/history";
import { barOf, isExhausted, type LimitedWorkload, limitOf, ordinalIn } from "../../restarts/limits";
import {
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
import { describeShare } from "./wording";

// Which pod of a workload is restarted next, and why. Pure.

/** One workload with everything that the checks need. */
export interface WorkloadState extends Context {
  readonly workload: ObservedWorkload;
  /** Restarts of the workload, with the outcomes known now. */
  readonly history: readonly RestartStatus[];
  /** Pods with sufficient evidence for a restart. */
  readonly rejected: readonly ObservedPod[];
  /** `Deployment/web: 2 of 3 pods rejected` */
  readonly share: string;
  /** The pod that is restarted next. Absent: no restart would help, or may. */
  readonly next: Candidate | undefined;
}

/** What the workloads of a pass share. */
interface Context {
  readonly observed: Observed;
  /** All restarts, with the outcomes known now. */
  readonly restarts: readonly RestartStatus[];
  readonly spec: TokenRestartSpec;
  readonly now: Date;
  readonly pending: readonly PendingWrite[];
}

/** A rejected pod that the operator may restart, and that a restart can heal. */
export interface Candidate {
  readonly pod: ObservedPod;
  readonly claim: TokenClaim;
}

/** Claim of a restart by this remedy. */
export type TokenClaim = RestartClaim & { readonly cause: TokenCause };

/** Finds out which pod of a workload is next. */
export function stateOf(workload: ObservedWorkload, context: Context): WorkloadState {
  const history = restartsOf(workloadId(workload.view), context.restarts);
  // A log that will be read within moments may contradict the evidence.
  const rejected = workload.pods.filter(pod => pod.isNew !== true && isRejected(pod));
  const state = { ...context, workload, history, rejected };
  return { ...state, share: describeShare(workload, rejected), next: nextOf(state) };
}

type StateWithoutNext = Omit<WorkloadState, "share" | "next">;

/**
 * The candidate that is replaced first: one whose restarts are not used up, and whose restart the API server has not just refused, on a
 * node that answers, with fresh evidence, with proof, not Ready, of a StatefulSet that of the lowest number, oldest. So a pod that cannot be healed
 * does not keep the others waiting. If a limit holds it back, one that is not Ready has its turn, whose restart takes no further pod down.
 */
function nextOf(state: StateWithoutNext): Candidate | undefined {
  const healable = state.rejected.filter(pod => barOf(pod, state.workload.view) === undefined && canHeal(pod));
  const candidates = healable.map(pod => ({ pod, claim: claimFor(pod, state) }));
  const rank = ({ pod, claim }: Candidate): readonly number[] => [
    Number(isExhausted(claim, state.history, state.now)),
    Number(refusedRestart(pod.view, state) !== undefined),
    Number(pod.view.nodeUnreachable === true),
    Number(isStale(pod)),
    Number(pod.proof === undefined),
    Number(pod.view.ready),
    ordinalIn(state.workload.view, pod.view.name),
    pod.view.createdAtMs,
  ];
  const ranked = candidates
    .map(candidate => ({ candidate, rank: rank(candidate), name: candidate.pod.view.name }))
    .toSorted((a, b) => byRank(a.rank, b.rank) || (a.name < b.name ? -1 : 1))
    .map(({ candidate }) => candidate);
  const [first] = ranked;
  const down = ranked.find(({ pod }) => !pod.view.ready);
  const isHeld = ({ pod, claim }: Candidate): boolean => limitOf(pod.view, claim, limitedWorkload(state)) !== undefined;
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

function claimFor(pod: ObservedPod, { workload, spec }: StateWithoutNext): TokenClaim {
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

/** Why a pod would be restarted. */
export function causeOf(pod: ObservedPod): TokenCause {
  if (isBySandbox(pod)) return Cause.CniCredentialRejected;
  if (pod.serviceAccount === "missing") return Cause.ServiceAccountMissing;
  return pod.proof?.cause ?? Cause.Unknown;
}

/** The workload as its limits see it. */
export function limitedWorkload({ workload, history, spec, pending, now }: StateWithoutNext): LimitedWorkload {
  const { view, rolloutSinceMs } = workload;
  const pods = workload.pods.map(pod => ({ view: pod.view, isDead: pod.proof !== undefined && isRejected(pod) }));
  return { view, pods, rolloutSinceMs, history, maxUnavailable: limitsOf(spec).maxUnavailable, pending, now };
}
