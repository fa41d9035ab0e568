import { count } from "../../../../core/count";
import { matchesSelector } from "../../../../core/label-selector";
import type { AuditFacts, BudgetFacts, WorkloadFacts } from "../facts";
import type { Finding } from "../finding";

/** PodDisruptionBudgets that never allow an eviction of the workload that they select. */
export function neverEvictable({ budgets = [], workloads = [] }: AuditFacts): Finding[] {
  return budgets.flatMap(budget => {
    const { selector, namespace, name } = budget;
    if (selector === null) return [];
    const selected = workloads.filter(
      ({ view, podLabels }) =>
        view.namespace === namespace && view.kind !== "DaemonSet" && matchesSelector(podLabels, selector),
    );
    const replicas = selected.reduce((sum, { view }) => sum + view.replicas, 0);
    if (replicas === 0 || allowed(budget, replicas) > 0) return [];
    return [
      {
        ...({ severity: "warning", check: "NeverEvictable", kind: "PodDisruptionBudget", namespace, name } as const),
        why: `it never allows an eviction of ${listOf(selected)} with ${count(replicas, "replica")} (${ruleOf(budget)}): no drain of its node ends, and no controller can replace a broken pod safely.`,
        wayOut: replicas === 1 ? "Run two replicas, or delete the PodDisruptionBudget." : "Set maxUnavailable: 1.",
      },
    ];
  });
}

/** Pods that may be missing when all are healthy. The disruption controller rounds percentages up. */
function allowed({ minAvailable, maxUnavailable }: BudgetFacts, replicas: number): number {
  if (maxUnavailable !== undefined) return scaled(maxUnavailable, replicas);
  return minAvailable === undefined ? replicas : replicas - scaled(minAvailable, replicas);
}

function scaled(value: number | string, replicas: number): number {
  return typeof value === "number" ? value : Math.ceil((parseFloat(value) * replicas) / 100);
}

function ruleOf({ minAvailable, maxUnavailable }: BudgetFacts): string {
  return maxUnavailable === undefined
    ? `minAvailable: ${minAvailable ?? "unset"}`
    : `maxUnavailable: ${maxUnavailable}`;
}

function listOf(workloads: readonly WorkloadFacts[]): string {
  return workloads.map(({ view }) => `${view.kind} ${view.name}`).join(" and ");
}

/** Workloads whose pods a changed template does not replace. */
export function onDelete({ workloads = [] }: AuditFacts): Finding[] {
  return workloads
    .filter(({ view }) => view.rollout?.strategy === "OnDelete" && view.replicas > 0)
    .map(({ view: { kind, namespace, name, rollout } }) => {
      const isBehind = rollout?.isComplete === false;
      return {
        ...({ check: "OnDelete", kind, namespace, name } as const),
        severity: isBehind ? "warning" : "notice",
        why: `its updateStrategy is OnDelete${isBehind ? ", and some of its pods have an older template" : ""}: a fix of the template, such as a shorter token, reaches no running pod.`,
        wayOut: isBehind
          ? "Delete its older pods one by one, or set updateStrategy.type: RollingUpdate."
          : "Set updateStrategy.type: RollingUpdate.",
      };
    });
}
