import type { LabelSelector, TargetSelector } from "../../api/controller-resilience";
import type { Readers } from "../../core/readers";
import type { WorkloadView } from "../../core/views";

/**
 * The workloads of one target, read live; none when there is none (yet).
 *
 * @throws whatever the reader throws
 */
export async function readTarget(target: TargetSelector, namespace: string, from: Readers): Promise<WorkloadView[]> {
  if (target.name !== undefined) {
    const workload = await from.workload(target.kind, namespace, target.name);
    return workload === null ? [] : [workload];
  }
  const { selector } = target;
  if (selector === undefined) return [];
  const all = await from.workloads(target.kind, namespace);
  return all.filter(workload => matchesSelector(workload.labels, selector));
}

/** A target for people: `Deployment/web`, or which selector it is; `index` counts from 0. */
export function describeTarget(target: TargetSelector, index: number): string {
  return target.name === undefined
    ? `any ${target.kind} that the selector of target ${index + 1} matches`
    : `${target.kind}/${target.name}`;
}

/** Whether labels match a selector, as the API server would say. */
export function matchesSelector(labels: Readonly<Record<string, string>>, selector: LabelSelector): boolean {
  const all = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return all && (selector.matchExpressions ?? []).every(requirement => meets(labels, requirement));
}

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

function meets(labels: Readonly<Record<string, string>>, { key, operator, values = [] }: Requirement): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}
