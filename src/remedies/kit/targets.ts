import type { TargetSelector } from "../../api/controller-resilience";
import { matchesSelector } from "../../core/label-selector";
import type { Readers } from "../../core/readers";
import type { WorkloadView } from "../../core/views";

/**
 * Reads the workloads of one target, live; there may be none yet. A target of kind Pod names none: only token-restart handles it, and the
 * API server refuses it with any other block.
 *
 * @throws any error of the reader
 */
export async function readTarget(target: TargetSelector, namespace: string, readers: Readers): Promise<WorkloadView[]> {
  if (target.kind === "Pod") return [];
  if (target.name !== undefined) {
    const workload = await readers.workload(target.kind, namespace, target.name);
    return workload === null ? [] : [workload];
  }
  const { selector } = target;
  if (selector === undefined) return [];
  const all = await readers.workloads(target.kind, namespace);
  return all.filter(workload => matchesSelector(workload.labels, selector));
}

/** Returns a target for messages: `Deployment/web`, or `Deployment matching spec.targets[0].selector`. */
export function describeTarget(target: TargetSelector, index: number): string {
  return target.name === undefined
    ? `${target.kind} matching spec.targets[${index}].selector`
    : `${target.kind}/${target.name}`;
}
