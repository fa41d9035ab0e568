import type { TargetSelector } from "../../api/controller-resilience";
import { WORKLOAD_KINDS } from "../../core/kinds";
import type { Readers } from "../../core/readers";
import type { PodView, WorkloadView } from "../../core/views";
import { matchesSelector } from "../../core/label-selector";
import { unlessForbidden } from "../kit/problems";
import { describeTarget, readTarget } from "../kit/targets";
import { workloadId, type Problem, type WatchedWorkload } from "./observed";
import { directOwner, isTypedKind, podOwner, type PodOwner } from "./pod-owner";
import { isPodOf } from "./targets";

/** What the search reads with. */
export interface Search {
  readonly namespace: string;
  readonly readers: Readers;
  /** Failed reads are added here. */
  readonly problems: Problem[];
}

interface Found {
  readonly views: readonly WatchedWorkload[];
  /** Targets without a workload. */
  readonly missing: readonly string[];
}

/**
 * Finds the workloads of the targets: those that targets name or select, and the owners of pods that targets of kind Pod select. A pod
 * belongs to one workload, and a workload that a target names belongs to that target. `pods` are those of the namespace.
 *
 * @throws any reader's error except ForbiddenError, which becomes a problem
 */
export async function findWorkloads(
  targets: readonly TargetSelector[],
  pods: readonly PodView[],
  search: Search,
): Promise<Found> {
  const named = new Map<string, WorkloadView>();
  const selected = new Set<PodView>();
  const missing: string[] = [];
  for (const [index, target] of targets.entries()) {
    const matchingPods = target.kind === "Pod" ? podsOf(target, pods) : [];
    const matching = await unlessForbidden(() => readTarget(target, search.namespace, search.readers), search.problems);
    if (matching?.length === 0 && matchingPods.length === 0) missing.push(describeTarget(target, index));
    for (const view of matching ?? []) named.set(view.uid, view);
    for (const pod of matchingPods) selected.add(pod);
  }
  const owners = await ownersOf([...selected], { ...search, pods, named: [...named.values()] });
  return { views: [...named.values(), ...owners], missing };
}

function podsOf({ selector }: TargetSelector, pods: readonly PodView[]): PodView[] {
  return selector === undefined ? [] : pods.filter(({ labels }) => matchesSelector(labels, selector));
}

interface OwnerSearch extends Search {
  readonly pods: readonly PodView[];
  /** Workloads that targets name. */
  readonly named: readonly WorkloadView[];
}

/** Selected pods with one owner. */
interface Group {
  readonly owner: PodOwner;
  readonly pods: readonly PodView[];
}

async function ownersOf(selected: readonly PodView[], search: OwnerSearch): Promise<WatchedWorkload[]> {
  const views: WatchedWorkload[] = [];
  const others = new Map<PodView, PodOwner>();
  const byOwner = grouped(selected, podOwner);
  const typedWorkloads = await readKinds(byOwner, search);
  for (const group of byOwner) {
    const { kind, name } = group.owner;
    const ofKind = isTypedKind(kind) ? typedWorkloads.get(kind) : [];
    if (ofKind === undefined) continue;
    const typed = ofKind.find(view => view.name === name);
    const own = new Set(group.pods.filter(pod => typed !== undefined && isPodOf(pod, typed)));
    if (typed !== undefined && !isNamed(typed, search)) views.push(...selection(typed, own, search.pods));
    const rest = group.pods.filter(pod => !own.has(pod));
    for (const pod of rest) others.set(pod, isTypedKind(kind) ? withoutTypedOwner(pod) : group.owner);
  }
  const groups = grouped([...others.keys()], pod => others.get(pod) ?? podOwner(pod));
  const all = [...views, ...groups.map(group => ownerView(group, search.namespace))];
  // The order of pods changes with every list, and each change of status is a write.
  return all.toSorted((a, b) => (workloadId(a) < workloadId(b) ? -1 : 1));
}

/** By kind: its workloads, those that targets name first. A kind that may not be read is absent. A list costs no more than one of many owners. */
async function readKinds(
  groups: readonly Group[],
  { named, namespace, readers, problems }: OwnerSearch,
): Promise<ReadonlyMap<WorkloadView["kind"], readonly WorkloadView[]>> {
  const found = new Map<WorkloadView["kind"], readonly WorkloadView[]>();
  for (const kind of WORKLOAD_KINDS) {
    const owners = groups.map(({ owner }) => owner).filter(owner => owner.kind === kind);
    const known = named.filter(view => view.kind === kind);
    const isKnown = owners.every(owner => known.some(({ name }) => name === owner.name));
    const listed = isKnown ? [] : await unlessForbidden(() => readers.workloads(kind, namespace), problems);
    if (listed !== undefined) found.set(kind, [...known, ...listed]);
  }
  return found;
}

function isNamed({ uid }: WorkloadView, { named }: OwnerSearch): boolean {
  return named.some(view => view.uid === uid);
}

/** The Deployment of a ReplicaSet may be gone while the ReplicaSet lives on. A StatefulSet or DaemonSet that is gone recreates nothing. */
function withoutTypedOwner(pod: PodView): PodOwner {
  const direct = directOwner(pod);
  if (!isTypedKind(direct.kind)) return direct;
  return { kind: "Pod", name: pod.name, refusal: `its owner ${workloadId(direct)} does not exist` };
}

function grouped(pods: readonly PodView[], ownerOf: (pod: PodView) => PodOwner): Group[] {
  const groups = new Map<string, { owner: PodOwner; pods: PodView[] }>();
  for (const pod of pods) {
    const owner = ownerOf(pod);
    const id = workloadId(owner);
    const group = groups.get(id) ?? { owner, pods: [] };
    // One pod that an eviction may end is reason enough to restart none of them.
    if (owner.refusal !== undefined) group.owner = owner;
    group.pods.push(pod);
    groups.set(id, group);
  }
  return [...groups.values()];
}

/** A typed workload of which a target selects pods; none without pods. Its replicas say nothing about a part of its pods. */
function selection(view: WorkloadView, own: ReadonlySet<PodView>, all: readonly PodView[]): WatchedWorkload[] {
  if (own.size === 0) return [];
  const { replicas, ...rest } = view;
  const isWhole = all.every(pod => !isPodOf(pod, view) || own.has(pod));
  return [{ ...rest, ...(isWhole ? { replicas } : {}), selected: uidsOf([...own]) }];
}

/** All that is known of an owner of another kind. */
function ownerView({ owner, pods }: Group, namespace: string): WatchedWorkload {
  const { kind, name, refusal } = owner;
  const newest = pods.reduce<PodView | undefined>(
    (a, b) => (a === undefined || b.createdAtMs > a.createdAtMs ? b : a),
    undefined,
  );
  return {
    kind,
    namespace,
    name,
    uid: workloadId(owner),
    resourceVersion: "",
    labels: {},
    skip: false,
    serviceAccountName: newest?.serviceAccountName ?? "default",
    selected: uidsOf(pods),
    ...(refusal === undefined ? {} : { refusal }),
  };
}

function uidsOf(pods: readonly PodView[]): ReadonlySet<string> {
  return new Set(pods.map(({ uid }) => uid));
}
