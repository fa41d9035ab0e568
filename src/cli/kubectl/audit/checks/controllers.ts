import { count } from "../../../../core/text";
import { timeOf } from "../../../../core/json";
import type { LeaseView } from "../../../../core/leases";
import { formatDuration } from "../../../../core/time";
import type { PodView, ServiceAccountView } from "../../../../core/views";
import { BoundAccounts } from "../../../../engine/cluster-wide/facts";
import { protectionsOf } from "../../../../engine/cluster-wide/coverage";
import { planNamespace } from "../../../../engine/cluster-wide/plan";
import { type AuditFacts, isActive, type LogFacts } from "../facts";
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

/** A holder may renew late, and its node's clock may be off by some seconds. */
const TOLERANCE_MS = 5_000;

/** Leases that are past their duration although a pod with the holder's name runs. One look cannot tell: the node's clock may be off. */
export function suspiciousLeases({ leases = [], pods = [], nowMs }: AuditFacts): LeaseView[] {
  return leases.filter(lease => {
    const sinceMs = nowMs - (timeOf(lease.renewed) ?? Infinity);
    return sinceMs > durationOf(lease) + TOLERANCE_MS && holderOf(lease, pods) !== undefined;
  });
}

/** The time after which others may take a Lease. */
export function durationOf({ durationMs = 15_000 }: LeaseView): number {
  return durationMs;
}

/** Leases that were suspicious and were not renewed before the second look either. */
export function staleLeases(facts: AuditFacts): Finding[] {
  const { secondLook } = facts;
  return suspiciousLeases(facts)
    .filter(lease => secondLook === undefined || isUnchanged(lease, secondLook.leases))
    .map(lease => describe(lease, facts));
}

function isUnchanged(first: LeaseView, later: readonly LeaseView[]): boolean {
  const again = later.find(({ namespace, name }) => namespace === first.namespace && name === first.name);
  return again?.renewed === first.renewed && again?.holder === first.holder;
}

function describe(lease: LeaseView, { secondLook, pods = [], nowMs }: AuditFacts): Finding {
  const { namespace, name, renewed } = lease;
  const durationMs = durationOf(lease);
  const isSure = secondLook !== undefined && secondLook.afterMs >= durationMs;
  const pod = holderOf(lease, pods)?.name ?? lease.holder;
  const doubt = isSure ? "" : " (a suspicion: it was not watched for a whole duration)";
  return {
    ...{ check: "StaleLease", kind: "Lease", namespace, name },
    severity: isSure ? "critical" : "warning",
    why: `last renewed ${formatDuration(nowMs - (timeOf(renewed) ?? nowMs))} ago, for ${formatDuration(durationMs)}, although pod ${pod} of its holder runs${doubt}. Such a controller may hang, or be answered 401.`,
    wayOut: "If it hangs, delete the pod. See what it logs:",
    command: `kubectl logs ${pod} -n ${namespace} --tail=50`,
  };
}

/** client-go's identity is the host name, which is the pod's, often with `_` and a random suffix. */
function holderOf({ holder, namespace }: LeaseView, pods: readonly PodView[]): PodView | undefined {
  const [name = ""] = holder.split("_");
  return pods.find(pod => pod.namespace === namespace && pod.name === name && isActive(pod) && pod.phase === "Running");
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
