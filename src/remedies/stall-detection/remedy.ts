import { ConditionType, STALL_CAUSES } from "../../api/conditions";
import type { StallDetectionSpec } from "../../api/controller-resilience";
import type { Problem } from "../../core/errors";
import type { Permission } from "../../core/intent";
import type { Readers } from "../../core/readers";
import { defineRemedy, type ObjectInMode, type Remedy, type StatusGauge } from "../../core/remedy";
import { keyOf, splitKey } from "../../core/text";
import { parseDuration } from "../../core/time";
import { type BindingView, groupBy } from "../../core/views";
import { withHolders } from "../../restarts/holder";
import { Memories } from "../kit/memories";
import { unlessForbidden } from "../kit/problems";
import { limitsOf } from "../kit/restarting";
import { findTargetPods, TARGET_RIGHTS } from "../kit/targets";
import { staleLeases } from "./lease-judge";
import { readLeases, withLeases } from "./leases";
import { withLogs } from "./logs";
import { withMetrics } from "./metrics";
import {
  newMemory,
  type ObjectMemory,
  type Observed,
  type ObservedPod,
  type ObservedWorkload,
  type Pass,
} from "./observed";
import { planStalls, reportStalls } from "./plan";
import { readKinds } from "./progress";
import { REASONS } from "./reasons";

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
    why: "Names the binding whose loss explains 403 responses.",
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
    observe: (object, spec, readers) => observeControllers(object, spec, readers, memories.of(keyOf(object))),
    plan: planStalls,
    report: reportStalls,
    pause: key => memories.pause(key),
    forget: key => memories.forget(key),
  });
}

// What one pass reads.

/**
 * Reads workloads, pods, Leases, bindings and what was found in the logs.
 *
 * @throws NotYetError while the first logs are being read, and any reader's error except ForbiddenError, which becomes a problem
 */
async function observeControllers(
  object: ObjectInMode,
  spec: StallDetectionSpec,
  readers: Readers,
  memory: ObjectMemory,
): Promise<Observed> {
  const problems: Problem[] = [];
  const pass: Pass = { object, spec, readers, memory, problems };
  const { all, missing, workloads: targets } = await findTargetPods(object, readers, problems);
  const found = await withLogs(targets, pass);
  const nowMs = readers.clock.now().getTime();
  const { leases, unread } = await readLeases(pass);
  const forMs = parseDuration(spec.for);
  const due = (workload: ObservedWorkload): boolean => isDue(workload, spec, forMs);
  const epochMs = nowMs - readers.clock.monotonicMs();
  const led = withLeases(found, leases, all, pass).map(workload => withMetrics(workload, epochMs, pass));
  const marked = memory.rollouts.mark(led, due, nowMs);
  const workloads = await withHolders(marked, due, object, readers);
  const lost = memory.bindings.follow(await readBindings(pass), accountsOf(found), nowMs);
  const kinds = await readKinds(workloads, pass);
  const { status } = object;
  return {
    mode: object.mode,
    restarts: status?.restarts ?? [],
    previous: status?.stalls ?? [],
    limits: limitsOf(object.spec.tokenRestart),
    missingTargets: missing,
    workloads,
    lost,
    ...{ kinds, epochMs, leases: leases.map(({ track }) => track) },
    unread: [...unread, ...kinds.flatMap(({ kind, reading }) => (reading.unknown === undefined ? [] : `${kind} `))],
    problems,
  };
}

/** Reports whether a pod of the workload may have to be restarted. */
function isDue({ pods }: ObservedWorkload, { onStall }: StallDetectionSpec, forMs: number): boolean {
  const isCondemned = ({ leases, idle }: ObservedPod): boolean =>
    staleLeases(leases, forMs).length > 0 || idle !== undefined;
  return onStall === "Restart" && pods.some(isCondemned);
}

/** The ServiceAccounts of the pods, as `namespace/name`. */
function accountsOf(workloads: readonly ObservedWorkload[]): string[] {
  const views = workloads.flatMap(({ pods }) => pods.map(({ view }) => view));
  return [...new Set(views.map(({ namespace, serviceAccountName }) => `${namespace}/${serviceAccountName}`))];
}

/** Undefined: they are not wanted, or not all of them can be read. */
async function readBindings({ object, spec, readers, problems }: Pass): Promise<readonly BindingView[] | undefined> {
  if (!spec.evidence.includes("Forbidden")) return undefined;
  const { namespace } = object.metadata;
  const ofNamespace = await unlessForbidden(() => readers.bindings("RoleBinding", namespace), problems);
  const ofCluster = await unlessForbidden(() => readers.bindings("ClusterRoleBinding", namespace), problems);
  return ofNamespace && ofCluster && [...ofNamespace, ...ofCluster];
}
