import { Cause, ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import { defineRemedy, type Remedy } from "../../core/remedy";
import { keyOf } from "../../core/text";
import { LogWatch } from "../../logs/reading/log-watch";
import { Memories } from "../kit/memories";
import { endTrials, observeDaemonSets } from "./observe";
import { planTokenLifetime, reportTokenLifetime } from "./plan";
import { REASONS } from "./reasons";
import { reviewLogs, SandboxWatch } from "./review";
import { describeHeldTrials } from "./trial";

const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: "apps",
    resource: "daemonsets",
    verbs: ["get", "list", "watch", "patch"],
    why: "Reads DaemonSets; patch bounds the token in a pod template, and reverts that.",
  },
  {
    apiGroup: "",
    resource: "pods",
    verbs: ["list", "watch"],
    why: "Reads which pods have the shorter token, and whether pods start on the node of a CNI agent.",
  },
  { apiGroup: "", resource: "pods/log", verbs: ["get"], why: "Reads whether pods get 401 responses." },
  {
    apiGroup: "",
    resource: "events",
    verbs: ["list", "watch"],
    why: "Reads whether pods start and end on the nodes of a CNI agent. Only Events FailedCreatePodSandBox and FailedKillPod are requested.",
  },
  {
    apiGroup: "",
    resource: "serviceaccounts",
    verbs: ["get", "list", "watch"],
    why: "Reads whether a token is mounted, and whether pods can be created.",
  },
  {
    apiGroup: "",
    resource: "",
    url: "/openid/v1/jwks",
    verbs: ["get"],
    why: "Sees whether a rotation of the signing keys explains 401 responses.",
  },
  {
    apiGroup: "",
    resource: "pods/eviction",
    verbs: ["create"],
    why: "Replaces the first pod of a trial; PodDisruptionBudgets are respected.",
  },
];

/** Bounds the lifetime of the ServiceAccount tokens of DaemonSets in their templates. */
export function createTokenLifetime(review = reviewLogs): Remedy<"tokenLifetime"> {
  const memories = new Memories(key => ({ logs: new LogWatch(key), sandboxes: new SandboxWatch() }));
  return defineRemedy({
    name: "token-lifetime",
    block: "tokenLifetime",
    condition: ConditionType.TokenLifetimeBounded,
    reasons: REASONS,
    owns: "daemonSets",
    permissions: PERMISSIONS,
    causes: [Cause.TokenTooLong],
    observe(object, spec, readers) {
      const { logs, sandboxes } = memories.of(keyOf(object));
      return observeDaemonSets(object, spec, readers, {
        logs: pods => review(logs, pods, readers),
        sandboxes: pods => sandboxes.review(pods, readers),
      });
    },
    plan: planTokenLifetime,
    report: reportTokenLifetime,
    cleanUp: endTrials,
    whileSuspended: ({ status }) => describeHeldTrials(status?.daemonSets ?? []),
    pause: key => memories.pause(key),
    forget: key => memories.forget(key),
  });
}
