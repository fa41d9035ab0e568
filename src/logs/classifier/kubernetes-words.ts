import { words, phrases } from "./text";

// Words that show that a request went to the API server. Lower case, matched as whole words only: an object named
// "vault-token" says nothing about Vault.

/** Names of the API server and its clients. */
export const KUBERNETES_NAMES: ReadonlySet<string> = new Set([
  ...words("kubernetes k8s kube kube-apiserver apiserver api-server kubeconfig in-cluster incluster"),
  ...words("kube-api k8s-api kube-client kube_client k8s-client k8s_client kubernetes-client"),
  // A header of every answer of an API server.
  "audit-id",
]);

/** Words that only describe requests to the Kubernetes API. */
export const KUBERNETES_WORDS: ReadonlySet<string> = new Set([
  ...words(
    "informer informers reflector configmap configmaps serviceaccount serviceaccounts daemonset",
    "daemonsets statefulset statefulsets replicaset replicasets cronjob cronjobs pod pods endpointslice",
    "endpointslices persistentvolume persistentvolumes lease leases persistentvolumeclaim",
    "persistentvolumeclaims customresourcedefinition customresourcedefinitions crd crds rolebinding",
    "rolebindings clusterrole clusterroles clusterrolebinding clusterrolebindings storageclass",
    "storageclasses volumeattachment volumeattachments csinode csinodes ingressclasses networkpolicy",
    "networkpolicies tokenreview tokenreviews subjectaccessreview subjectaccessreviews",
    "horizontalpodautoscaler horizontalpodautoscalers poddisruptionbudget poddisruptionbudgets",
    "tokenrequest clusterinformation cluster-info partialobjectmetadata replicationcontroller",
    "replicationcontrollers",
  ),
]);

/** Pairs of words with the same meaning. */
export const KUBERNETES_PAIRS: ReadonlySet<string> = new Set([
  ...phrases(
    "api server, api group, api groups, api group-resources, server apis, server groups, server version",
    "server preferred, server resources, resource lock, lease lock, leader election, service account",
    "custom resource, custom resources, api resources, rest mapper, cluster unreachable, some groups",
    "update status, status update, patch status, status patch, updating status, patching status",
    "status subresource",
    // A TokenReview or SubjectAccessReview of this process, answered by the API server.
    "webhook authenticator, webhook authorizer",
  ),
]);

/** Kinds whose names are also ordinary words: weak evidence for the API server. */
export const KUBERNETES_NOUNS: ReadonlySet<string> = new Set([
  ...words(
    "finalizer finalizers label labels annotation annotations condition conditions ownerreference node nodes namespace namespaces secret secrets service services endpoint endpoints deployment",
    "deployments job jobs ingress ingresses event events finalizer finalizers cluster lock manager",
    "controller role roles watch watcher resource resources object objects",
  ),
]);
