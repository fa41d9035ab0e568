import { DEFAULT_SECONDS, type JsonObject } from "../template";

/** Serves both kinds of a pair since Kubernetes 1.36. */
export const ADMISSION_API = "admissionregistration.k8s.io/v1";

/** What one pair of policy and binding does: new pods of one DaemonSet get tokens that live no longer. */
export interface Shortening {
  readonly namespace: string;
  readonly daemonSet: string;
  readonly expirationSeconds: number;
}

/**
 * `spec` of the MutatingAdmissionPolicy, with every field that the API server would default, so that what is read compares with it.
 * Whatever goes wrong in it lets the pod pass as it is (failurePolicy Ignore): a pod with a longer token is better than none.
 */
export function policySpec({ namespace, daemonSet, expirationSeconds }: Shortening): JsonObject {
  return {
    failurePolicy: "Ignore",
    // Injectors of sidecars may bring a token of their own after the policy has run.
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

/** `spec` of the MutatingAdmissionPolicyBinding: the policy as it is, without parameters. */
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
 * Sets the one field, in each source with a token for the API server that would live longer: a token with an audience of its own is for
 * somebody else. `add` replaces a member that is there. A policy may use what CEL knows in the release before: transformList is there
 * since 1.32, flatten since 1.34.
 */
function shortened(expirationSeconds: number): string {
  return [
    // A projected volume without sources has null there.
    "object.spec.?volumes.orValue([]).transformList(v, volume, volume.?projected.?sources.orValue(null) != null,",
    "volume.projected.sources.transformList(s, source,",
    "source.?serviceAccountToken.hasValue() &&",
    'source.serviceAccountToken.?audience.orValue("") == "" &&',
    `source.serviceAccountToken.?expirationSeconds.orValue(${DEFAULT_SECONDS}) > ${expirationSeconds},`,
    'JSONPatch{op: "add", path: "/spec/volumes/" + string(v) + "/projected/sources/" + string(s) +',
    `"/serviceAccountToken/expirationSeconds", value: ${expirationSeconds}})).flatten()`,
  ].join(" ");
}
