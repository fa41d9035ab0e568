import type { TargetSelector } from "../../api/controller-resilience";
import { WORKLOAD_KINDS } from "../../core/kinds";
import { matchesSelector, type WorkloadView } from "../../core/views";
import type { Readers } from "../../core/readers";
import { type Problem, unlessForbidden } from "./problems";

/** What workloads are read with. Failed reads are added to `problems`. */
interface Search {
  readonly namespace: string;
  readonly readers: Readers;
  readonly problems: Problem[];
}

/** The workloads of all targets, each once, and the targets without a workload. */
interface FoundTargets {
  readonly views: readonly WorkloadView[];
  readonly missing: readonly string[];
}

/**
 * Reads the workloads of all targets.
 *
 * @throws any error of the reader except ForbiddenError, which becomes a problem
 */
export async function findTargets(targets: readonly TargetSelector[], search: Search): Promise<FoundTargets> {
  const views = new Map<string, WorkloadView>();
  const missing: string[] = [];
  for (const [index, target] of targets.entries()) {
    const read = (): Promise<WorkloadView[]> => readTarget(target, search.namespace, search.readers);
    const found = await unlessForbidden(read, search.problems);
    if (found?.length === 0) missing.push(describeTarget(target, index));
    for (const view of found ?? []) views.set(view.uid, view);
  }
  return { views: [...views.values()], missing };
}

/**
 * Reads the workloads of one target, live; there may be none yet. A kind that this version does not know has none.
 *
 * @throws any error of the reader
 */
export async function readTarget(target: TargetSelector, namespace: string, readers: Readers): Promise<WorkloadView[]> {
  if (!WORKLOAD_KINDS.includes(target.kind)) return [];
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
