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
  const readers = listingOnce(targets, search.readers);
  for (const [index, target] of targets.entries()) {
    const read = (): Promise<WorkloadView[]> => readTarget(target, search.namespace, readers);
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
export async function readTarget(
  target: TargetSelector,
  namespace: string,
  readers: WorkloadReaders,
): Promise<WorkloadView[]> {
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

/** What targets are read with. */
type WorkloadReaders = Pick<Readers, "workload" | "workloads">;

/** With more targets of a kind by name, one list is cheaper than reading each of them. */
const FEW = 16;

/** Returns readers for all targets of one pass, which list a kind once if many targets name one of it. */
export function listingOnce(targets: readonly TargetSelector[], readers: WorkloadReaders): WorkloadReaders {
  const lists = new Map<string, Promise<readonly WorkloadView[]>>();
  const workloads: Readers["workloads"] = (kind, namespace) => {
    const list = lists.get(kind) ?? readers.workloads(kind, namespace);
    lists.set(kind, list);
    return list;
  };
  const hasMany = (kind: string): boolean => targets.filter(target => target.kind === kind).length > FEW;
  const listed = new Set<string>(WORKLOAD_KINDS.filter(hasMany));
  return {
    workloads,
    workload: async (kind, namespace, name) =>
      listed.has(kind)
        ? ((await workloads(kind, namespace)).find(view => view.name === name) ?? null)
        : readers.workload(kind, namespace, name),
  };
}

/** Returns a target for messages: `Deployment/web`, or `Deployment matching spec.targets[0].selector`. */
export function describeTarget(target: TargetSelector, index: number): string {
  return target.name === undefined
    ? `${target.kind} matching spec.targets[${index}].selector`
    : `${target.kind}/${target.name}`;
}
