import { ConditionType, STALL_CAUSES } from "../../api/conditions";
import type { StallStatus } from "../../api/controller-resilience";
import type { Permission } from "../../core/intent";
import { keyOf, splitKey } from "../../core/text";
import { defineRemedy, type Remedy, type StatusGauge } from "../../core/remedy";
import { Memories } from "../kit/memories";
import { TARGET_RIGHTS } from "../kit/targets";
import { newMemory } from "./observed";
import { observeControllers } from "./observe";
import { planStalls, reportStalls } from "./plan";
import { REASONS } from "./reasons";

/** Stalled controllers by workload and evidence, as in status. */
export const STALLED: StatusGauge = {
  name: "stalled_controllers",
  help: "Pieces of evidence that a workload is stalled, by kind of evidence. No series: none.",
  labels: ["namespace", "name", "workload", "evidence"],
  samples: (key, { status: { stalls = [] } }) => {
    const counts = new Map<string, { readonly stall: StallStatus; readonly value: number }>();
    for (const stall of stalls) {
      const id = `${stall.workload} ${stall.evidence}`;
      counts.set(id, { stall, value: (counts.get(id)?.value ?? 0) + 1 });
    }
    return Array.from(counts.values(), ({ stall: { workload, evidence }, value }) => {
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
