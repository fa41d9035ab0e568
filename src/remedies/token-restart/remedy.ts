import { ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import { keyOf } from "../../core/text";
import type { Key } from "../../core/ports";
import { defineRemedy, type Remedy } from "../../core/remedy";
import { createFinder } from "../../logs/detector";
import { LogWatch } from "../../logs/reading/log-watch";
import { SandboxTraces } from "../../logs/sandboxes";
import { withHolders } from "../../restarts/holder";
import { RolloutWaits } from "../../restarts/limits";
import { Memories } from "../kit/memories";
import { TARGET_RIGHTS } from "../kit/targets";
import { observeTargets, type SeenAccount } from "./observe";
import { isRejected, type Observed, type ObservedWorkload, TOKEN_CAUSES } from "./observed";
import { planRestarts, reportTokens, TOKEN_GAUGES } from "./plan";
import { REASONS } from "./reasons";
import { askServers } from "./witness";

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
    why: "Detects a rejected CNI credential on a node by Events in any namespace. Only Events FailedCreatePodSandBox and FailedKillPod are requested.",
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
    apiGroup: "",
    resource: "",
    url: "/metrics",
    verbs: ["get"],
    why: "Checks whether the API servers refuse requests: else no healthy log is read, nor a pod restarted on its log alone.",
  },
  {
    apiGroup: "discovery.k8s.io",
    resource: "endpointslices",
    name: "kubernetes",
    verbs: ["get"],
    why: "Finds the API servers: each has its own counters and keys.",
  },
  ...["rolebindings", "clusterrolebindings"].map(resource => ({
    apiGroup: "rbac.authorization.k8s.io",
    resource,
    verbs: ["list", "watch"],
    why: "Shows whether a pod without 401s in its log uses the API at all.",
  })),
  ...TARGET_RIGHTS,
];

/** Restarts pods whose requests persistently get 401 responses because their ServiceAccount token is invalid. */
export function createTokenRestart(): Remedy<"tokenRestart"> {
  const memories = new Memories(newMemory);

  return defineRemedy({
    name: "token-restart",
    block: "tokenRestart",
    condition: ConditionType.TokensAccepted,
    reasons: REASONS,
    gauges: TOKEN_GAUGES,
    owns: "targets",
    permissions: PERMISSIONS,
    causes: TOKEN_CAUSES,

    async observe(object, spec, readers): Promise<Observed> {
      const memory = memories.of(keyOf(object));
      const { find } = createFinder(spec.extraPhrases);
      const observed = await observeTargets(object, spec, readers, { ...memory, find });
      const nowMs = readers.clock.now().getTime();
      const isDue = ({ pods }: ObservedWorkload): boolean => pods.some(pod => isRejected(pod));
      const marked = memory.rollouts.mark(observed.workloads, isDue, nowMs);
      const workloads = await withHolders(marked, isDue, object, readers);
      return { ...observed, workloads, ...(await askServers({ ...observed, workloads }, spec, readers)) };
    },

    plan: planRestarts,
    report: reportTokens,

    pause: key => memories.pause(key),

    forget: key => memories.forget(key),
  });
}

/**
 * State of one ControllerResilience. After its loss, logs are read from further back, the wait for a rollout in progress begins again, and it is
 * unknown how long a ServiceAccount was missing.
 */
function newMemory(key: Key) {
  const accounts = new Map<string, SeenAccount>();
  return { logs: new LogWatch(key), sandboxes: new SandboxTraces(), rollouts: new RolloutWaits(), accounts };
}
