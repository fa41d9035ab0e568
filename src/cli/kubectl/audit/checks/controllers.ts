import { count } from "../../../../core/text";
import { formatDuration } from "../../../../core/time";
import type { PodView, ServiceAccountView } from "../../../../core/views";
import { BoundAccounts } from "../../../../engine/cluster-wide/facts";
import { protectionsOf } from "../../../../engine/cluster-wide/coverage";
import { planNamespace } from "../../../../engine/cluster-wide/plan";
import type { AuditFacts, LogFacts } from "../facts";
import type { Finding } from "../finding";
import { createAccount, restartPod, type WayOut } from "./tokens";

/** Fewer 403s can be a probe for a right, which many clients send when they start. */
const FORBIDDEN_FROM = 3;

/** Controllers that the API server answers 401 or 403 now, as their logs say. */
export function rejectedNow({
  logs = [],
  nowMs,
  bindings = [],
  hasAllBindings = false,
  accounts,
}: AuditFacts): Finding[] {
  const bound = new BoundAccounts();
  bound.replace("all", bindings);
  const isUnbound = ({ namespace, serviceAccountName }: PodView): boolean =>
    hasAllBindings && !bound.has(namespace, serviceAccountName);
  return logs.flatMap(log => [
    ...unauthorized(log, accounts),
    ...forbidden(log, { nowMs, isUnbound: isUnbound(log.pod) }),
  ]);
}

function unauthorized(log: LogFacts, accounts: AuditFacts["accounts"]): Finding[] {
  const { pod, container, unauthorized, occasions, needed } = log;
  if (unauthorized === "none") return [];
  const isPersistent = unauthorized === "persistent";
  const doubt = occasions < needed ? "too few to be sure" : "not yet for long enough to be sure";
  return [
    {
      ...({ check: "RejectedNow", kind: "Pod", namespace: pod.namespace, name: pod.name } as const),
      severity: isPersistent ? "critical" : "warning",
      why: `the log of container ${container} shows ${count(occasions, "occasion")} of 401, ${isPersistent ? "which persist" : doubt}.`,
      ...wayOutOf(log, accounts),
    },
  ];
}

/** As the other checks say it of a pod whose ServiceAccount is younger or missing. */
function wayOutOf({ pod, unauthorized }: LogFacts, accounts: readonly ServiceAccountView[] | undefined): WayOut {
  const account = accounts?.find(one => one.namespace === pod.namespace && one.name === pod.serviceAccountName);
  if (accounts !== undefined && account === undefined) return createAccount(pod);
  const isOlder = account !== undefined && pod.createdAtMs < account.createdAtMs;
  if (unauthorized === "persistent" || isOlder) return restartPod(pod);
  return { wayOut: "Look again in some minutes; tokenRestart does that and acts when they persist." };
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

/** Workloads that use the API and that no ControllerResilience protects. */
export function unprotected({ coverage = [] }: AuditFacts): Finding[] {
  return coverage.flatMap(facts =>
    protectionsOf(facts, planNamespace(facts))
      .filter(({ protection }) => protection === "unprotected")
      .map(({ workload, reason }) => {
        const [kind = "", name = ""] = workload.split("/");
        const namespace = facts.namespace.name;
        const isInstalled = facts.clusterObjects.length > 0;
        return {
          ...({ severity: "notice", check: "Unprotected", kind, namespace, name } as const),
          why: `it uses the API, and no ControllerResilience protects it${isInstalled ? ` (${reason})` : ""}: if its token dies, it stays Running and Ready.`,
          wayOut: "Protect it with a ControllerResilience, in mode Observe first (docs/examples/first-object.yaml).",
        };
      }),
  );
}
