import { hash } from "node:crypto";
import type { TargetSelector, ControllerResilience } from "../../api/controller-resilience";
import type { Permission } from "../../core/intent";
import { canonical } from "../../core/json";
import { WORKLOAD_KINDS } from "../../core/kinds";
import { serviceAccountUser } from "../../core/text";
import { matchesSelector, type PodView, type WorkloadView } from "../../core/views";
import type { Readers } from "../../core/readers";
import type { Problem } from "../../core/errors";
import { hasEnded, isOwnedBy } from "./pods";
import { unlessForbidden } from "./problems";

/** The rights to find the targets. */
export const TARGET_RIGHTS: readonly Permission[] = ["deployments", "statefulsets", "daemonsets"].map(resource => {
  return { apiGroup: "apps", resource, verbs: ["get", "list", "watch"], why: "Finds the targets." };
});

/** Identifies what is asked for in a block: other targets, or to suspend an object and let it go on, are no new request. */
export function requestNumberOf({ spec }: ControllerResilience, block: "tokenLifetime" | "flowIsolation"): number {
  return parseInt(hash("sha256", canonical(spec[block])).slice(0, 12), 16);
}

/** What workloads are read with. */
interface Search {
  readonly namespace: string;
  readonly readers: WorkloadReaders;
  /** Forbidden reads are added here. Absent: they are thrown. */
  readonly problems?: Problem[];
  /** Targets of other kinds do not count. */
  readonly kind?: TargetSelector["kind"];
}

/** The workloads of all targets, each once, and the targets without a workload. */
interface FoundTargets {
  readonly views: readonly WorkloadView[];
  readonly missing: readonly string[];
}

/**
 * Reads the workloads of all targets, live; there may be none yet.
 *
 * @throws any error of the reader, but not ForbiddenError where problems are collected
 */
export async function findTargets(
  targets: readonly TargetSelector[],
  { namespace, readers, problems, kind }: Search,
): Promise<FoundTargets> {
  const views = new Map<string, WorkloadView>();
  const missing: string[] = [];
  const once = listingOnce(targets, readers);
  for (const [index, target] of targets.entries()) {
    if (kind !== undefined && target.kind !== kind) continue;
    const read = (): Promise<WorkloadView[]> => readTarget(target, namespace, once);
    const found = problems === undefined ? await read() : await unlessForbidden(read, problems);
    if (found?.length === 0) missing.push(describeTarget(target, index));
    for (const view of found ?? []) views.set(view.uid, view);
  }
  return { views: [...views.values()], missing };
}

/** A workload and its pods. */
export interface TargetPods {
  readonly view: WorkloadView;
  /** Those that have not ended. */
  readonly pods: readonly { readonly view: PodView; readonly isOperator: boolean }[];
}

/** What was found of an object's targets. */
interface FoundPods {
  readonly missing: readonly string[];
  readonly workloads: readonly TargetPods[];
  /** All pods of the namespace that have not ended. */
  readonly all: readonly PodView[];
}

/** Reads the workloads of an object's targets and their pods, from the watch cache. Throws as {@link findTargets} and the reader of pods. */
export async function findTargetPods(
  { metadata: { namespace }, spec: { targets } }: ControllerResilience,
  readers: WorkloadReaders & Pick<Readers, "pods" | "ownUser">,
  problems: Problem[],
): Promise<FoundPods> {
  const all = (await readers.pods(namespace)).filter(pod => !hasEnded(pod));
  const { views, missing } = await findTargets(targets, { namespace, readers, problems });
  const ownUser = await readers.ownUser();
  const isOperator = (pod: PodView): boolean => ownUser === serviceAccountUser(pod.namespace, pod.serviceAccountName);
  const podsOf = (view: WorkloadView): TargetPods["pods"] =>
    all.filter(pod => isOwnedBy(pod, view)).map(pod => ({ view: pod, isOperator: isOperator(pod) }));
  return { all, missing, workloads: views.map(view => ({ view, pods: podsOf(view) })) };
}

/** A kind that this version does not know has none. */
async function readTarget(
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

/** Lists a kind once if many targets name one of it. */
function listingOnce(targets: readonly TargetSelector[], readers: WorkloadReaders): WorkloadReaders {
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
        : shared(targets, [kind, namespace, name], readers),
  };
}

/** Reads that are under way, by the targets of the pass and by what is read. */
const underWay = new WeakMap<readonly TargetSelector[], Map<string, ReturnType<Readers["workload"]>>>();

/** The remedies of a pass ask for the same workload at the same time: one answer is for all. */
function shared(
  targets: readonly TargetSelector[],
  which: Parameters<Readers["workload"]>,
  readers: WorkloadReaders,
): ReturnType<Readers["workload"]> {
  const reads = underWay.get(targets) ?? new Map<string, ReturnType<Readers["workload"]>>();
  underWay.set(targets, reads);
  const key = which.join("/");
  const read = reads.get(key) ?? readers.workload(...which).finally(() => reads.delete(key));
  reads.set(key, read);
  return read;
}

/** `Deployment/web`, or `Deployment matching spec.targets[0].selector`. */
function describeTarget(target: TargetSelector, index: number): string {
  return target.name === undefined
    ? `${target.kind} matching spec.targets[${index}].selector`
    : `${target.kind}/${target.name}`;
}
