import { ConditionType, STALL_CAUSES } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import { defineRemedy, type Remedy, type StatusGauge } from "../../core/remedy";
import { keyOf, splitKey } from "../../core/text";
import { type BindingView, groupBy, type PodView } from "../../core/views";
import { withHolders } from "../../restarts/holder";
import { Memories } from "../kit/memories";
import { unlessForbidden } from "../kit/problems";
import { limitsOf } from "../kit/restarting";
import { findTargetPods, TARGET_RIGHTS } from "../kit/targets";
import { staleLeases } from "./lease-judge";
import { holding, readLeases } from "./leases";
import { logsOf, wantLogs } from "./logs";
import { newMemory, type Observed, type ObservedPod, type ObservedWorkload, type Pass } from "./observed";
import { planStalls, reportStalls } from "./plan";
import { REASONS } from "./reasons";
import { readKinds, withMetrics } from "./work";

/** Stalled controllers by workload and evidence, as in status. */
export const STALLED: StatusGauge = {
  name: "stalled_controllers",
  help: "Pieces of evidence that a workload is stalled, by kind of evidence. No series: none.",
  labels: ["namespace", "name", "workload", "evidence"],
  // While the object is suspended no pass looks.
  samples: (key, { spec, status: { stalls = [] } }) => {
    const groups = groupBy(spec.suspend ? [] : stalls, ({ workload, evidence }) => `${workload} ${evidence}`);
    return Array.from(groups, ([id, { length: value }]) => {
      const [workload = "", evidence = ""] = id.split(" ");
      return { labels: { ...splitKey(key), workload, evidence }, value };
    });
  },
};

const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: "coordination.k8s.io",
    resource: "leases",
    verbs: ["list"],
    why: "Sees which Leases the pods of the targets hold, and whether they are renewed.",
  },
  {
    apiGroup: "",
    resource: "pods",
    verbs: ["list", "watch"],
    why: "Finds the pods of the targets, and whether they run.",
  },
  {
    apiGroup: "",
    resource: "pods/log",
    verbs: ["get"],
    why: "Finds 403 responses, 401 responses and lost Leases in the logs of the targets' pods.",
  },
  {
    apiGroup: "",
    resource: "pods/eviction",
    verbs: ["create"],
    why: "With onStall: Restart, replaces a pod that no longer renews its Lease. PodDisruptionBudgets are respected.",
  },
  ...["rolebindings", "clusterrolebindings"].map(resource => ({
    apiGroup: "rbac.authorization.k8s.io",
    resource,
    verbs: ["list", "watch"],
    why: "Names the binding whose loss explains 403 responses, or that a Lease is no longer renewed.",
  })),
  ...TARGET_RIGHTS,
];

/** Finds controllers that run and do nothing, and restarts those that hold a Lease without renewing it. */
export function createStallDetection(): Remedy<"stallDetection"> {
  const memories = new Memories(newMemory);
  return defineRemedy({
    name: "stall-detection",
    block: "stallDetection",
    condition: ConditionType.ControllersActive,
    reasons: REASONS,
    owns: "stalls",
    permissions: PERMISSIONS,
    gauges: [STALLED],
    causes: STALL_CAUSES,
    observe: (object, spec, readers) =>
      observeControllers({ object, spec, readers, memory: memories.of(keyOf(object)), problems: [] }),
    plan: planStalls,
    report: reportStalls,
    pause: key => memories.pause(key),
    forget: key => memories.forget(key),
  });
}

// What one pass reads.

/**
 * Reads workloads, pods, bindings, logs, Leases, metrics and kinds.
 *
 * @throws NotYetError while the first logs are being read, and any reader's error except ForbiddenError, which becomes a problem
 */
async function observeControllers(pass: Pass): Promise<Observed> {
  const { object, spec, readers, memory, problems } = pass;
  const { all, missing, workloads: targets } = await findTargetPods(object, readers, problems);
  await wantLogs(targets, pass);
  const nowMs = readers.clock.now().getTime();
  const epochMs = nowMs - readers.clock.monotonicMs();
  const { leases, unread } = await readLeases(pass);
  const known = { epochMs, areLeasesKnown: spec.evidence.includes("Lease") && unread.length === 0 };
  const views = targets.flatMap(({ pods }) => pods.map(({ view }) => view));
  const leasesOf = holding(leases, { views, all }, pass);
  const lost = memory.bindings.follow(await readBindings(pass), accountsOf(views), nowMs);
  const found = targets.map(({ view, pods }) => {
    const read = pods.map(pod => {
      const logs = logsOf(pod.view, view, lost, pass);
      return { ...pod, logs, leases: leasesOf(pod.view, logs) };
    });
    return { view, pods: withMetrics(read, known, pass) };
  });
  const due = (workload: ObservedWorkload): boolean => spec.onStall === "Restart" && workload.pods.some(isCondemned);
  const workloads = await withHolders(memory.rollouts.mark(found, due, nowMs), due, object, readers);
  const kinds = await readKinds(workloads, pass);
  const { status, mode } = object;
  return {
    mode,
    restarts: status?.restarts ?? [],
    previous: status?.stalls ?? [],
    limits: limitsOf(object.spec.tokenRestart),
    missingTargets: missing,
    workloads,
    ...{ lost, boundSinceMs: memory.bindings.presentSinceMs },
    ...{ kinds, epochMs, leases: leases.map(({ track }) => track) },
    unread: [...unread, ...kinds.flatMap(({ kind, reading }) => (reading.unknown === undefined ? [] : `${kind} `))],
    problems,
  };
}

/** Reports whether a pod may have to be restarted. */
function isCondemned({ leases, idle }: ObservedPod): boolean {
  return staleLeases(leases).length > 0 || idle !== undefined;
}

/** The ServiceAccounts of the pods, as `namespace/name`. */
function accountsOf(pods: readonly PodView[]): string[] {
  return [...new Set(pods.map(({ namespace, serviceAccountName }) => `${namespace}/${serviceAccountName}`))];
}

/** Undefined: they are not wanted, or not all of them can be read. */
async function readBindings({ object, spec, readers, problems }: Pass): Promise<readonly BindingView[] | undefined> {
  const { evidence, onStall } = spec;
  const isWanted = evidence.includes("Forbidden") || (evidence.includes("Lease") && onStall === "Restart");
  if (!isWanted) return undefined;
  const { namespace } = object.metadata;
  const ofNamespace = await unlessForbidden(() => readers.bindings("RoleBinding", namespace), problems);
  const ofCluster = await unlessForbidden(() => readers.bindings("ClusterRoleBinding", namespace), problems);
  return ofNamespace && ofCluster && [...ofNamespace, ...ofCluster];
}
