import { Cause } from "../../api/conditions";
import type { RestartStatus, TargetStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { parseDuration } from "../../core/duration";
import type { RestartClaim, RestartLimits } from "../../core/intent";
import { causeOf, type TokenCause } from "./cause";
import {
  isBySandbox,
  isRejected,
  workloadId,
  type PodFacts,
  type TokenRestartFacts,
  type WorkloadFacts,
} from "./facts";

// Which pod of a workload is restarted next, and on what grounds. Pure.

/** One workload before the checks. */
export interface WorkloadCase {
  readonly facts: TokenRestartFacts;
  readonly own: WorkloadFacts;
  readonly spec: TokenRestartSpec;
  /** Its restarts, with their outcomes as of now. */
  readonly history: readonly RestartStatus[];
  readonly previous: TargetStatus | undefined;
  /** Its restarts were used up by an earlier generation, and count for nothing any more but the cooldown that still runs. */
  readonly isCooling: boolean;
  /** Its pods that are condemned. */
  readonly rejected: readonly PodFacts[];
  readonly now: Date;
}

/** The condemned pods of a workload. */
export function rejectedOf(own: WorkloadFacts): PodFacts[] {
  return own.pods.filter(facts => isRejected(facts));
}

/** Condemned, and a restart may help. */
export function candidatesOf(given: WorkloadCase): PodFacts[] {
  return given.rejected.filter(
    facts => !facts.pod.skip && facts.serviceAccount === "present" && !hasNothingToRenew(facts, given),
  );
}

/**
 * It mounts no token for the API server that we know of, and nobody lost theirs for certain at the same time. Suspicion is enough to
 * name a cause, since of those that lose their tokens at once somebody is always the first; it is too little to restart a pod for.
 */
function hasNothingToRenew(facts: PodFacts, given: WorkloadCase): boolean {
  const certain = given.facts.onsets.filter(({ isPersistent }) => isPersistent);
  return facts.pod.mountsToken === false && causeFor(facts, given, certain) === Cause.Unknown;
}

/** The condemned pod to be replaced first: one that serves nobody, then the oldest. */
export function nextCandidate(given: WorkloadCase): PodFacts | undefined {
  return candidatesOf(given).toSorted(
    (a, b) =>
      Number(a.pod.ready) - Number(b.pod.ready) ||
      a.pod.createdAtMs - b.pod.createdAtMs ||
      (a.pod.name < b.pod.name ? -1 : 1),
  )[0];
}

/** The claim of a restart of this remedy. */
export type TokenClaim = RestartClaim & { readonly cause: TokenCause };

/** What its restart claims. */
export function nextClaim(given: WorkloadCase): TokenClaim | undefined {
  const candidate = nextCandidate(given);
  if (candidate === undefined) return undefined;
  const { pod, proof } = candidate;
  return {
    workload: workloadId(given.own.workload),
    pod: pod.name,
    podUID: pod.uid,
    cause: causeFor(candidate, given),
    // A rollout takes every pod, so it has no siblings that could be exempt from the cooldown.
    ...(proof === undefined || given.spec.strategy === "RolloutRestart"
      ? {}
      : { serviceAccountUID: proof.serviceAccountUID }),
    limits: limitsOf(given.spec),
  };
}

/** The budget that a spec gives each workload. */
export function limitsOf(spec: TokenRestartSpec): RestartLimits {
  return {
    cooldownMs: parseDuration(spec.cooldown),
    maxRestarts: spec.maxRestarts,
    maxRestartsWindowMs: parseDuration(spec.maxRestartsWindow),
  };
}

function causeFor(condemned: PodFacts, { own, facts, now }: WorkloadCase, known = facts.onsets): TokenCause {
  const { pod, verdict, proof, serviceAccount } = condemned;
  if (isBySandbox(condemned)) return Cause.CniCredentialRejected;
  const onset = {
    workload: workloadId(own.workload),
    namespace: pod.namespace,
    serviceAccount: pod.serviceAccountName,
    sinceMs: verdict.firstMs ?? proof?.sinceMs ?? 0,
    seenMs: now.getTime(),
    isPersistent: true,
  };
  const rejection = { onset, isOlder: proof !== undefined, isServiceAccountMissing: serviceAccount === "missing" };
  return causeOf(rejection, known);
}
