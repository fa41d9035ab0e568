import { Cause, STALL_CAUSES } from "../../api/conditions";
import type { TargetStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { Refusals } from "../../core/readers";
import type { PodView, ServiceAccountView, WorkloadView } from "../../core/views";
import type { Persistence } from "../../logs/persistence";
import type { QuietTime } from "../../logs/reading/log-watch";
import type { SandboxFailures } from "../../logs/sandboxes";
import type { ObservedTargets, TargetWorkload } from "../kit/restarting";
import type { Incident, TokenProof } from "./proof";

// What a pass has observed, as plain data, and what it means for one pod: rejected, suspected, stale.

/** Why this remedy restarts a pod. */
export type TokenCause = Exclude<Cause, "TokenTooLong" | "LeaseNotRenewed" | "ProgressStopped">;

/** All causes of this remedy: it settles the restarts in status with these causes. */
export const TOKEN_CAUSES: readonly Cause[] = Object.values(Cause).filter(
  cause => cause !== Cause.TokenTooLong && !STALL_CAUSES.includes(cause),
);

/** Everything that a plan is made from, plain data: the workloads of the targets, and what else a plan needs. */
export interface Observed extends ObservedTargets<ObservedPod> {
  /** Sentences about nodes where pods cannot start or end, and no pod is blamed for it. */
  readonly doubtfulNodes: readonly string[];
  /** The second witness beside the logs of a pod. Absent: the API servers can prove nothing, or were not asked. */
  readonly refusals?: Refusals | undefined;
  /** An API server that lacks a key that another one publishes. Absent: there is none, or it was not read. */
  readonly serverWithoutKey?: string | undefined;
}

/** One workload of the targets. */
export interface ObservedWorkload extends TargetWorkload<ObservedPod> {
  /** Its entry in status.targets, as last written. */
  readonly previous?: TargetStatus | undefined;
  /** Whether its pods have left a rejected credential on their nodes is not known yet. */
  readonly isUnseen?: boolean;
}

/** What the logs of a pod, or that of one of its containers, say. */
export interface PodLogs {
  /** 401s: those of the worst container. */
  readonly logs: Persistence;
  /** Some log was not read yet, and is wanted only since some seconds. */
  readonly isNew?: boolean;
  /** All logs were read up to this time. Absent: not all logs have been read. */
  readonly readMs?: number | undefined;
  /** First line in the current life, or after the last 401. Absent: the log is empty. */
  readonly firstLineMs?: number | undefined;
  /** Time in which every log that is not empty went on without a 401. Absent: all are empty. */
  readonly quiet?: QuietTime | undefined;
  /** The logs cannot be read, so the plan does not wait for them. */
  readonly unreadable: boolean;
}

/** One pod and the evidence about its token. */
export interface ObservedPod extends PodLogs {
  readonly view: PodView;
  /** What the log of each container says alone. */
  readonly byContainer?: ReadonlyMap<string, PodLogs>;
  /** A part of its log was skipped: it is written faster than it can be read, or the clock of its node was set back. */
  readonly isLogPartial?: boolean;
  /** What may have made its token invalid. */
  readonly incidents?: readonly Incident[];
  /** Proof that its token is invalid. */
  readonly proof?: TokenProof | undefined;
  /** The ServiceAccount, if it is younger than the pod, and what it says of who recreates it. The kubelet may have renewed the token since. */
  readonly recreation?: Pick<ServiceAccountView, "hook" | "owner"> | undefined;
  /** Sandbox failures on its node since the pod became Ready, if the pod can be the CNI agent. Absent: no statement is possible. */
  readonly sandboxes?: SandboxFailures | undefined;
  /** unknown: the read failed. */
  readonly serviceAccount: "present" | "missing" | "unknown";
  /** A pod of this operator, which ends by itself when its token is rejected. */
  readonly isOperator?: boolean;
}

/** Reports whether 401s in its logs are evidence: not in those of a program that logs the 401s of others, such as Argo CD. */
export function isLogEvidence(
  { logsForeign401s = false }: Pick<WorkloadView, "logsForeign401s">,
  { evidence }: Pick<TokenRestartSpec, "evidence">,
): boolean {
  return evidence.includes("Logs") && !logsForeign401s;
}

/**
 * Reports whether the evidence against a pod is sufficient for a restart: persistent 401s in its logs or on its node, or a pod older
 * than its ServiceAccount with a later 401 or after a sufficient time.
 */
export function isRejected({ view, logs, sandboxes, proof }: ObservedPod): boolean {
  if (view.deletedAtMs !== undefined) return false;
  return logs.state === "persistent" || sandboxes?.state === "persistent" || isSufficient(proof, logs);
}

/** Reports whether a proof needs no 401, or one in a log confirms it. */
function isSufficient(proof: TokenProof | undefined, { lastMs = -Infinity }: Persistence): boolean {
  return proof !== undefined && (proof.alone || lastMs >= proof.sinceMs);
}

/** Reports whether there is evidence that is not sufficient yet: 401s that are not persistent, or a pod older than its ServiceAccount. */
export function isSuspected({ logs, sandboxes, proof }: ObservedPod): boolean {
  const isOlder = proof !== undefined && proof.isContradicted !== true;
  return isOlder || logs.state === "suspected" || sandboxes?.state === "suspected";
}

/** Returns the evidence without sandbox failures. */
export function withoutSandboxes(pod: ObservedPod): ObservedPod {
  return pod.sandboxes === undefined ? pod : { ...pod, sandboxes: { state: "quiet", occasions: 0 } };
}

/** Returns the evidence without sandbox failures that any client of one namespace may have made up. */
export function withoutOneSided(pod: ObservedPod): ObservedPod {
  return pod.sandboxes?.isOneSided === true ? withoutSandboxes(pod) : pod;
}

/** Reports whether the evidence needs 401s in logs, and by the log's own rhythm another one is overdue. A key may have come back. */
export function isStale(pod: ObservedPod): boolean {
  const { proof, logs } = pod;
  const isOlder = proof?.cause === Cause.ServiceAccountRecreated;
  return !isOlder && !isBySandbox(pod) && logs.isFresh === false;
}

/** Reports whether the sandbox failures on the node are the strongest evidence against the pod. They may confirm a proof. */
export function isBySandbox({ logs, proof, sandboxes }: ObservedPod): boolean {
  if (sandboxes === undefined || isSufficient(proof, logs)) return false;
  return SEVERITY[sandboxes.state] > SEVERITY[logs.state];
}

/** Returns the 401s that count against a pod without proof: those of its log, or on its node. */
export function rejectionsOf(pod: ObservedPod): Persistence {
  return (isBySandbox(pod) && pod.sandboxes) || pod.logs;
}

/** Why a pod would be restarted. */
export function causeOf(pod: ObservedPod): TokenCause {
  if (pod.proof === undefined && isBySandbox(pod)) return Cause.CniCredentialRejected;
  if (pod.serviceAccount === "missing") return Cause.ServiceAccountMissing;
  return pod.proof?.cause ?? Cause.Unknown;
}

/** Order of {@link Persistence} states. */
export const SEVERITY = { quiet: 0, suspected: 1, persistent: 2 } as const;
