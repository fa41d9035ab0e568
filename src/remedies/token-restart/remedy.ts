import { ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import { keyOf } from "../../core/key";
import type { Key } from "../../core/ports";
import { defineRemedy, type Remedy } from "../../core/remedy";
import { createFinder, type Finder } from "../../logs/detector";
import { LogWatch } from "../../logs/reading/log-watch";
import { TOKEN_CAUSES } from "./cause";
import { KnownOnsets } from "./known-onsets";
import { observeTargets, onsetsOf } from "./observe";
import type { Observed } from "./observed";
import { planRestarts } from "./plan";
import { REASONS } from "./reasons";
import { rejectionsOf } from "./rejections";
import { reportTokens } from "./report";
import { RolloutWaits } from "./rollout-waits";
import { SandboxTraces } from "../../logs/sandboxes/traces";

const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: "",
    resource: "pods/eviction",
    verbs: ["create"],
    why: "Replaces a pod whose token is invalid. PodDisruptionBudgets are respected.",
  },
  {
    apiGroup: "",
    resource: "pods",
    verbs: ["list", "watch"],
    why: "Finds the pods of the targets, their age and their ServiceAccount.",
  },
  {
    apiGroup: "",
    resource: "events",
    verbs: ["list", "watch"],
    why: "Detects a rejected CNI credential on a node by Events in any namespace. Only FailedCreatePodSandBox Events are requested.",
  },
  { apiGroup: "", resource: "pods/log", verbs: ["get"], why: "Finds 401s in the logs of the targets' pods." },
  {
    apiGroup: "",
    resource: "serviceaccounts",
    verbs: ["get", "list", "watch"],
    why: "Detects a ServiceAccount that is younger than a pod, or missing.",
  },
  {
    apiGroup: "",
    resource: "",
    url: "/openid/v1/jwks",
    verbs: ["get"],
    why: "Proves that the signing key of a token was replaced.",
  },
  {
    apiGroup: "rbac.authorization.k8s.io",
    resource: "rolebindings",
    verbs: ["list", "watch"],
    why: "Shows whether a pod without 401s in its log uses the API at all.",
  },
  {
    apiGroup: "rbac.authorization.k8s.io",
    resource: "clusterrolebindings",
    verbs: ["list", "watch"],
    why: "Shows the same.",
  },
  {
    apiGroup: "apps",
    resource: "deployments",
    verbs: ["get", "list", "patch"],
    why: "Finds the targets. patch rolls a target with the strategy RolloutRestart or Auto.",
  },
  {
    apiGroup: "apps",
    resource: "statefulsets",
    verbs: ["get", "list", "patch"],
    why: "Finds the targets. patch rolls a target with the strategy RolloutRestart or Auto.",
  },
  {
    apiGroup: "apps",
    resource: "daemonsets",
    verbs: ["get", "list", "patch"],
    why: "Finds the targets. patch rolls a target with the strategy RolloutRestart or Auto.",
  },
];

/** State of one ControllerResilience. After its loss, logs are read from further back, and a rollout in progress is waited for anew. */
interface Memory {
  readonly logs: LogWatch;
  readonly sandboxes: SandboxTraces;
  readonly rollouts: RolloutWaits;
  /** Number of workloads in the last pass. */
  workloads: number;
  readonly patterns: string;
  readonly finder: Finder;
}

function newMemory(): Pick<Memory, "logs" | "sandboxes" | "rollouts" | "workloads"> {
  return { logs: new LogWatch(), sandboxes: new SandboxTraces(), rollouts: new RolloutWaits(), workloads: 0 };
}

/** Restarts pods whose requests persistently get 401 responses because their ServiceAccount token is invalid. */
export function createTokenRestart(): Remedy<"tokenRestart"> {
  const memories = new Map<Key, Memory>();
  const onsets = new KnownOnsets();

  function memoryOf(key: Key, extraPatterns: readonly string[]): Memory {
    const patterns = JSON.stringify(extraPatterns);
    const known = memories.get(key);
    if (known?.patterns === patterns) return known;
    const memory: Memory = { ...(known ?? newMemory()), patterns, finder: createFinder(extraPatterns) };
    memories.set(key, memory);
    onsets.forget(key);
    return memory;
  }

  return defineRemedy({
    name: "token-restart",
    block: "tokenRestart",
    condition: ConditionType.TokensAccepted,
    reasons: REASONS,
    owns: "targets",
    permissions: PERMISSIONS,
    causes: TOKEN_CAUSES,

    async observe(object, spec, readers): Promise<Observed> {
      const key = keyOf(object);
      const memory = memoryOf(key, spec.extraPatterns);
      const { finder } = memory;
      if ("invalid" in finder) return { kind: "invalidPattern", message: finder.invalid };
      const observed = await observeTargets(object, spec, readers, { ...memory, find: finder.find });
      const nowMs = readers.clock.now().getTime();
      const workloads = memory.rollouts.mark(observed.workloads, nowMs);
      memory.workloads = workloads.length;
      const known = onsets.remember(key, onsetsOf(workloads, nowMs), nowMs);
      return { ...observed, workloads, onsets: known, rejections: rejectionsOf(known, watched(memories), nowMs) };
    },

    plan: planRestarts,
    report: reportTokens,

    forget(key) {
      memories.delete(key);
      onsets.forget(key);
    },
  });
}

function watched(memories: ReadonlyMap<Key, Memory>): number {
  let total = 0;
  for (const { workloads } of memories.values()) total += workloads;
  return total;
}
