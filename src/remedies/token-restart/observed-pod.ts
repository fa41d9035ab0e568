import type { PodView } from "../../core/views";
import type { LogFinding, Watched } from "../../logs/reading/watched-log";
import type { ObservedPod, Problem } from "./observed";
import { summarizeLogs } from "./pod-logs";
import type { SandboxFindings } from "./sandbox-evidence";
import { weighLogs } from "./service-account-age";
import type { Recreation, TokenProof } from "./token-proof";

/** A pod before its logs are read. */
export interface PodBeforeLogs {
  readonly view: PodView;
  readonly proof: TokenProof | undefined;
  readonly recreation: Recreation | undefined;
  readonly serviceAccount: ObservedPod["serviceAccount"];
  readonly watched: readonly Watched[];
  readonly isOperator: boolean;
}

/** Adds what was found in the logs of a pod. Failed reads are added to `problems`. */
export function observedPod(
  pod: PodBeforeLogs,
  finding: (item: Watched) => LogFinding,
  problems: Problem[],
): ObservedPod {
  const { view, proof, recreation, serviceAccount, watched, isOperator } = pod;
  const findings = watched.map(item => finding(item));
  for (const [i, { error }] of findings.entries()) {
    const container = watched[i]?.container.name ?? "";
    const message = `cannot read the log of container ${container} of pod ${view.name}: ${error?.message ?? ""}`;
    if (error !== undefined) problems.push({ forbidden: error.forbidden, message });
  }
  const quietTimes = findings.map(({ quiet }) => quiet);
  return {
    view,
    ...summarizeLogs(findings),
    ...(proof === undefined ? {} : { proof: weighLogs(proof, quietTimes) }),
    ...(recreation === undefined ? {} : { recreation }),
    serviceAccount,
    isLogPartial: findings.some(({ isPartial }) => isPartial),
    isOperator,
  };
}

/** Adds what was found in the Events of its node. */
export function withFailures(pod: ObservedPod, { failuresOf }: SandboxFindings): ObservedPod {
  const sandboxes = failuresOf(pod.view);
  return sandboxes === undefined ? pod : { ...pod, sandboxes };
}
