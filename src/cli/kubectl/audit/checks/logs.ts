import { formatDuration } from "../../../../core/duration";
import type { PodView } from "../../../../core/views";
import { BoundAccounts } from "../../../../engine/cluster-wide/bound-accounts";
import type { AuditFacts, LogFacts } from "../facts";
import type { Finding } from "../finding";

/** Fewer 403s can be a probe for a right, which many clients send when they start. */
const FORBIDDEN_FROM = 3;

/** The default of `occasions`: so many 401s persist once they have lasted. */
const ENOUGH = 3;

/** Controllers that the API server answers 401 or 403 now, as their logs say. */
export function rejectedNow({ logs = [], nowMs, bindings = [], hasAllBindings = false }: AuditFacts): Finding[] {
  const bound = new BoundAccounts();
  bound.replace("all", bindings);
  const isUnbound = ({ namespace, serviceAccountName }: PodView): boolean =>
    hasAllBindings && !bound.has(namespace, serviceAccountName);
  return logs.flatMap(log => [...unauthorized(log), ...forbidden(log, { nowMs, isUnbound: isUnbound(log.pod) })]);
}

function unauthorized({ pod, container, unauthorized, occasions }: LogFacts): Finding[] {
  if (unauthorized === "none") return [];
  const isPersistent = unauthorized === "persistent";
  return [
    {
      ...({ check: "RejectedNow", kind: "Pod", namespace: pod.namespace, name: pod.name } as const),
      severity: isPersistent ? "critical" : "warning",
      why: `the log of container ${container} shows ${occasions} ${occasions === 1 ? "occasion" : "occasions"} of 401, ${isPersistent ? "which persist" : occasions < ENOUGH ? "too few to be sure" : "not yet for long enough to be sure"}.`,
      ...(isPersistent
        ? {
            wayOut: "Protect it with tokenRestart. If its ServiceAccount was recreated, restart the pod:",
            command: `kubectl delete pod ${pod.name} -n ${pod.namespace}`,
          }
        : { wayOut: "Look again in some minutes; tokenRestart does that and acts when they persist." }),
    },
  ];
}

function forbidden(
  { pod, container, forbidden, lastForbiddenMs }: LogFacts,
  { nowMs, isUnbound }: { readonly nowMs: number; readonly isUnbound: boolean },
): Finding[] {
  if (forbidden < FORBIDDEN_FROM) return [];
  const last = lastForbiddenMs === undefined ? "" : `, the last ${formatDuration(nowMs - lastForbiddenMs)} ago`;
  return [
    {
      ...({ check: "ForbiddenNow", kind: "Pod", namespace: pod.namespace, name: pod.name } as const),
      severity: "warning",
      why: `the log of container ${container} shows ${forbidden} answers 403${last}: ServiceAccount ${pod.serviceAccountName} lacks a right${isUnbound ? ": no ClusterRoleBinding names it, nor a RoleBinding here" : ""}.`,
      wayOut: "Grant it, or look for an expired binding. The log says which right it is:",
      command: `kubectl logs ${pod.name} -n ${pod.namespace} -c ${container} --tail=50`,
    },
  ];
}
