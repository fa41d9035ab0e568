import type { JsonObject } from "../../../core/json";
import { DEFAULT_SECONDS } from "../template";

/** Served since Kubernetes 1.36. */
export const ADMISSION_API = "admissionregistration.k8s.io/v1";

/** The effect of one pair: new pods of one DaemonSet get tokens with at most this lifetime. */
export interface Shortening {
  readonly namespace: string;
  readonly daemonSet: string;
  readonly expirationSeconds: number;
}

/**
 * `spec` of the MutatingAdmissionPolicy, with every field that the API server defaults, so that the stored spec is equal to it. A policy
 * that fails admits the pod unchanged (failurePolicy Ignore): a pod with a longer token is better than no pod.
 */
export function policySpec({ namespace, daemonSet, expirationSeconds }: Shortening): JsonObject {
  return {
    failurePolicy: "Ignore",
    // Sidecar injectors may add another token after the policy has run.
    reinvocationPolicy: "IfNeeded",
    matchConstraints: {
      matchPolicy: "Equivalent",
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      objectSelector: {},
      resourceRules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"], scope: "Namespaced" },
      ],
    },
    matchConditions: [{ name: "pod-of-the-daemonset", expression: ownedBy(daemonSet) }],
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: shortened(expirationSeconds) } }],
  };
}

/** `spec` of the MutatingAdmissionPolicyBinding, without parameters. */
export function bindingSpec(policyName: string): JsonObject {
  return { policyName };
}

function ownedBy(daemonSet: string): string {
  return [
    "object.metadata.?ownerReferences.orValue([]).exists(owner,",
    'owner.apiVersion == "apps/v1" && owner.kind == "DaemonSet" &&',
    `owner.name == ${JSON.stringify(daemonSet)} && owner.?controller.orValue(false))`,
  ].join(" ");
}

/**
 * Sets expirationSeconds in each source of a longer API server token; a token with another audience is not for the API server. `add`
 * replaces an existing member. Policies can use the CEL functions of the previous release: transformList exists since 1.32, flatten
 * since 1.34.
 */
function shortened(expirationSeconds: number): string {
  return [
    // `sources` is null in a projected volume without sources.
    "object.spec.?volumes.orValue([]).transformList(v, volume, volume.?projected.?sources.orValue(null) != null,",
    "volume.projected.sources.transformList(s, source,",
    "source.?serviceAccountToken.hasValue() &&",
    'source.serviceAccountToken.?audience.orValue("") == "" &&',
    `source.serviceAccountToken.?expirationSeconds.orValue(${DEFAULT_SECONDS}) > ${expirationSeconds},`,
    'JSONPatch{op: "add", path: "/spec/volumes/" + string(v) + "/projected/sources/" + string(s) +',
    `"/serviceAccountToken/expirationSeconds", value: ${expirationSeconds}})).flatten()`,
  ].join(" ");
}
