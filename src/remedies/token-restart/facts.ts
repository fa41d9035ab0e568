import type { RestartStatus, TargetStatus } from "../../api/controller-resilience";
import type { PodView, WorkloadView } from "../../core/views";
import type { Onset } from "./cause";
import type { Persistence } from "../../logs/persistence";
import type { AgeProof } from "./service-account-age";

/** All that a decision rests on: plain data, as observed. */
export interface TokenRestartFacts {
  readonly generation: number;
  readonly mode: "Enforce" | "Observe";
  /** status.restarts and status.targets as last written. */
  readonly restarts: readonly RestartStatus[];
  readonly previousTargets: readonly TargetStatus[];
  /** Why extraPatterns can't be used, with the position. Nothing else was read then. */
  readonly invalidPattern?: string;
  /** Targets that no workload matches, as `Deployment/web` or `DaemonSets that match the selector of target 2`. */
  readonly missingTargets: readonly string[];
  readonly workloads: readonly WorkloadFacts[];
  /** Nodes where new pods can't start for a rejected credential, and more than one workload may have left it there. */
  readonly undecided: readonly UndecidedNode[];
  /** What could not be read. The rest of the facts holds all the same. */
  readonly problems: readonly Problem[];
  /** Rejections without another explanation, of all workloads that the operator sees. */
  readonly onsets: readonly Onset[];
  /** Evictions that the API server refused for now. */
  readonly blocks: readonly Block[];
  /** When the next log read is due. */
  readonly nextReadInMs: number;
}

/** An eviction that was refused: not to be tried again before that time. */
export interface Block {
  /** The refusal spoke of a PodDisruptionBudget. */
  readonly byBudget: boolean;
  readonly podUID: string;
  readonly pod: string;
  readonly untilMs: number;
}

/** A node of which nobody can tell whose credential is rejected there. */
export interface UndecidedNode {
  readonly node: string;
  /** Two or more, as {@link workloadId} has them. */
  readonly workloads: readonly string[];
}

/** One read that failed. */
export interface Problem {
  readonly forbidden: boolean;
  /** A sentence that names what, without log text. */
  readonly message: string;
}

/** One workload of the targets, with its pods. */
export interface WorkloadFacts {
  readonly workload: WorkloadView;
  /** Pods that run or are about to, terminating ones too. */
  readonly pods: readonly PodFacts[];
}

/** One pod and the evidence against it. */
export interface PodFacts {
  readonly pod: PodView;
  /** Of the container that is worst off. */
  readonly verdict: Persistence;
  readonly proof?: AgeProof;
  /** Of the sandboxes on its node since it is Ready, where it may be the agent to blame. Absent: nothing can be told. */
  readonly sandbox?: Persistence;
  /** unknown: could not be read. */
  readonly serviceAccount: "present" | "missing" | "unknown";
  /** The logs of all its containers have been read up to this moment. Absent: not all have been read yet. */
  readonly readMs?: number;
  /** Its logs can't be read, so nothing is to be waited for from them. */
  readonly unreadable: boolean;
}

/** `Deployment/web`, as in status.restarts. */
export function workloadId(workload: Pick<WorkloadView, "kind" | "name">): string {
  return `${workload.kind}/${workload.name}`;
}

/** Condemned: persistently answered 401 itself or by the credential that it leaves on its node, or older than its ServiceAccount and either answered 401 since or left alone long enough. */
export function isRejected(facts: PodFacts): boolean {
  if (facts.pod.deletedAtMs !== undefined) return false;
  if (facts.verdict.state === "persistent" || facts.sandbox?.state === "persistent") return true;
  const { proof } = facts;
  return proof !== undefined && (proof.alone || (facts.verdict.lastMs ?? -Infinity) >= proof.sinceMs);
}

/** Some 401s, of its own or of its node's sandboxes. */
export function isSuspected({ verdict, sandbox }: PodFacts): boolean {
  return verdict.state === "suspected" || sandbox?.state === "suspected";
}

/** What speaks against it is its node's sandboxes, and nothing of its own as much as these. */
export function isBySandbox({ verdict, proof, sandbox }: PodFacts): boolean {
  return proof === undefined && sandbox !== undefined && SEVERITY[sandbox.state] > SEVERITY[verdict.state];
}

/** Verdicts by how grave they are. */
export const SEVERITY = { quiet: 0, suspected: 1, persistent: 2 } as const;
