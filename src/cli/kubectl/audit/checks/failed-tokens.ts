import { formatDuration } from "../../../../core/duration";
import { type AuditFacts, isActive } from "../facts";
import type { Finding } from "../finding";

/** The kubelet tries again every two minutes or sooner. */
const RECENT_MS = 600_000;

/** Pods for which the kubelet gets no token. A pod without a ServiceAccount has a finding of its own. */
export function failedTokens({ pods = [], accounts, tokenFailures = [], nowMs }: AuditFacts): Finding[] {
  return pods.filter(isActive).flatMap(({ namespace, name, uid, serviceAccountName, phase }) => {
    const failures = tokenFailures.filter(one => one.podUID === uid && nowMs - one.lastMs < RECENT_MS);
    const last = failures.toSorted((a, b) => b.lastMs - a.lastMs).at(0);
    const isMissing = accounts?.some(one => one.namespace === namespace && one.name === serviceAccountName) === false;
    if (last === undefined || isMissing) return [];
    const effect = phase === "Running" ? "The token that it has expires, or has expired already" : "It cannot start";
    const cause = last.isDenied ? "the API server denies it" : "the request fails";
    const why = `the kubelet asks for its token and gets none: ${cause}, last ${formatDuration(nowMs - last.lastMs)} ago. ${effect}.`;
    const wayOut =
      "Find the policy or webhook for serviceaccounts/token, or the pod that was forced to be deleted. Its Events have the reason:";
    const command = `kubectl describe pod ${name} -n ${namespace}`;
    return [{ severity: "critical", check: "FailedToken", kind: "Pod", namespace, name, why, wayOut, command }];
  });
}
