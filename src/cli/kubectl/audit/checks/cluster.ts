import { count } from "../../../../core/text";
import { modeOf } from "../../../../core/remedy";
import { formatDuration } from "../../../../core/time";
import { matchesSelector, type BindingView } from "../../../../core/views";
import { type Expiry, readExpiry } from "../../../../remedies/binding-renewal/conventions";
import { markedOf } from "../../../../remedies/binding-renewal/schedule";
import type { AuditFacts, BudgetFacts, WorkloadFacts } from "../facts";
import type { Finding, Severity } from "../finding";

const DAY_MS = 86_400_000;

/** The postmortem's binding expired on a weekend: a week is the least time in which a person surely looks. */
const CRITICAL_MS = 7 * DAY_MS;
const WARNING_MS = 30 * DAY_MS;

/** States in status of what is renewed when its time comes. */
const RENEWED: ReadonlySet<string> = new Set(["Current", "ExpiringSoon"]);

/** Bindings that the operator does not renew, or has not renewed in time, by the time that is left, in every convention. */
export function expiringBindings({ bindings = [], objects, nowMs }: AuditFacts): Finding[] {
  const renewed = new Set(
    objects
      .filter(object => modeOf(object) === "Enforce" && !object.spec.suspend)
      .flatMap(({ metadata, status }) =>
        (status?.bindings ?? [])
          .filter(({ state, renewTime = "" }) => RENEWED.has(state) && Date.parse(renewTime) > nowMs)
          .map(({ kind, name }) => `${kind}/${kind === "RoleBinding" ? metadata.namespace : ""}/${name}`),
      ),
  );
  const left = bindings.filter(({ kind, namespace, name }) => !renewed.has(`${kind}/${namespace}/${name}`));
  return left.flatMap(binding => {
    const { earliest, malformed } = readExpiry(markedOf(binding));
    if (earliest !== undefined) return [expiring(binding, earliest, nowMs)];
    return malformed.slice(0, 1).map(({ key, expected }) => ({
      ...base(binding),
      severity: "notice" as const,
      why: `its ${key} is not valid, so its enforcer never deletes it; expected ${expected}.`,
      wayOut: `Correct or remove ${key}.`,
      rank: Infinity,
    }));
  });
}

function expiring(binding: BindingView, { atMs, convention }: NonNullable<Expiry["earliest"]>, nowMs: number): Finding {
  const leftMs = atMs - nowMs;
  const accounts = binding.subjects
    .slice(0, 2)
    .map(({ kind, name, namespace }) => `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`);
  const [when, then] =
    leftMs <= 0
      ? [`expired ${formatDuration(-leftMs)} ago`, "once it is deleted, "]
      : [`expires in ${formatDuration(leftMs)}`, ""];
  return {
    ...base(binding),
    severity: severityOf(leftMs),
    why: `${when} (${convention.key}): ${then}${accounts.join(", ") || "no subject"} ${then === "" ? "then " : ""}loses ${binding.roleRef.kind} ${binding.roleRef.name}.`,
    wayOut: "Renew it, or protect the workload with bindingRenewal.",
    rank: atMs,
  };
}

function base({ kind, namespace, name }: BindingView): Pick<Finding, "check" | "kind" | "namespace" | "name"> {
  return { check: "ExpiringBinding", kind, namespace, name };
}

function severityOf(leftMs: number): Severity {
  if (leftMs < CRITICAL_MS) return "critical";
  return leftMs < WARNING_MS ? "warning" : "notice";
}

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
        wayOut:
          replicas === 1 && allowed(budget, 2) > 0
            ? "Run two replicas, or delete the PodDisruptionBudget."
            : "Set maxUnavailable: 1.",
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
