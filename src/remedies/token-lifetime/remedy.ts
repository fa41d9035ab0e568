import { Cause, ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import type { Remedy } from "../../core/remedy";
import { createPodLogReview } from "../../logs/pod-log-review";
import { cleanUpPairs } from "./admission";
import { concludeDaemonSets } from "./conclude";
import { decideDaemonSets } from "./decide";
import type { TokenLifetimeFacts } from "./facts";
import { observeDaemonSets } from "./observe";

/** Everything that this remedy can ever touch. */
const MAY: readonly Permission[] = [
  {
    apiGroup: "apps",
    resource: "daemonsets",
    verbs: ["get", "list", "patch"],
    why: "Finds the DaemonSets; patch bounds the token in a pod template, and takes that back.",
  },
  {
    apiGroup: "",
    resource: "pods",
    verbs: ["list", "watch"],
    why: "Sees which pods have the shorter token.",
  },
  { apiGroup: "", resource: "pods/log", verbs: ["get"], why: "Sees whether pods are answered 401 since." },
  {
    apiGroup: "",
    resource: "serviceaccounts",
    verbs: ["get"],
    why: "Sees whether a token is mounted at all, and whether pods can be created.",
  },
  {
    apiGroup: "",
    resource: "",
    url: "/metrics",
    verbs: ["get"],
    why: "Warns where the API server is shown tokens past their life (serviceaccount_stale_tokens_total).",
  },
  ...["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"].map(resource => ({
    apiGroup: "admissionregistration.k8s.io",
    resource,
    verbs: ["list", "create", "patch", "delete"],
    why: "via: Admission makes one for each DaemonSet, puts it right if somebody changes it, and takes it away.",
  })),
  {
    apiGroup: "",
    resource: "pods/eviction",
    verbs: ["create"],
    why: "via: Admission replaces pods that have a longer token; a PodDisruptionBudget is respected.",
  },
];

/** Bounds the life of the ServiceAccount tokens of DaemonSets, by their templates or at admission. */
export function createTokenLifetime(logs = createPodLogReview()): Remedy<"tokenLifetime", TokenLifetimeFacts> {
  return {
    name: "token-lifetime",
    key: "tokenLifetime",
    condition: ConditionType.TokenLifetimeBounded,
    may: MAY,
    observe: (object, spec, from) => observeDaemonSets(object, spec, from, logs),
    decide: decideDaemonSets,
    conclude: concludeDaemonSets,
    cleanUp: cleanUpPairs,
    causes: [Cause.TokenTooLong],
    forget: key => logs.forget(key),
  };
}
