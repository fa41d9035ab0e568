import { Cause, ConditionType } from "../../api/conditions";
import type { Permission } from "../../core/intent";
import type { LegacyRemedy } from "../../core/legacy-remedy";
import { createPodLogReview } from "../../logs/pod-log-review";
import { cleanUpPairs } from "./admission";
import { concludeDaemonSets } from "./conclude";
import { decideDaemonSets } from "./decide";
import type { TokenLifetimeFacts } from "./facts";
import { observeDaemonSets } from "./observe";
import { REASONS } from "./reasons";

/** Everything that this remedy can ever touch. */
const PERMISSIONS: readonly Permission[] = [
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
export function createTokenLifetime(logs = createPodLogReview()): LegacyRemedy<"tokenLifetime", TokenLifetimeFacts> {
  return {
    name: "token-lifetime",
    block: "tokenLifetime",
    condition: ConditionType.TokenLifetimeBounded,
    reasons: REASONS,
    owns: "daemonSets",
    permissions: PERMISSIONS,
    observe: (object, spec, from) => observeDaemonSets(object, spec, from, logs),
    decide: decideDaemonSets,
    conclude: concludeDaemonSets,
    cleanUp: cleanUpPairs,
    causes: [Cause.TokenTooLong],
    forget: key => logs.forget(key),
  };
}
