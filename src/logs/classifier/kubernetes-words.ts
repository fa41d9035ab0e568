import { words, phrases } from "./text";

// Words that tell whom a request went to. One word each, lower case, as whole words only:
// an object that is called "vault-token" says nothing about Vault.

/** The API server and its clients by name. */
export const KUBERNETES_NAMES: ReadonlySet<string> = new Set([
  ...words("kubernetes k8s kube kube-apiserver apiserver api-server kubeconfig in-cluster incluster"),
  // A header of every answer that an API server gives.
  "audit-id",
]);

/** Words that only a request to the Kubernetes API is described with. */
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

/** Pairs of words of the same weight. */
export const KUBERNETES_PAIRS: ReadonlySet<string> = new Set([
  ...phrases(
    "api server, api group, api groups, api group-resources, server apis, server groups, server version",
    "server preferred, server resources, resource lock, lease lock, leader election, service account",
    "custom resource, custom resources, api resources, rest mapper, cluster unreachable, some groups",
    "update status, status update, patch status, status patch, updating status, patching status",
    "status subresource",
  ),
]);

/** Kinds of objects whose names are ordinary words too: they speak for the API server, but not alone. */
export const KUBERNETES_NOUNS: ReadonlySet<string> = new Set([
  ...words(
    "finalizer finalizers label labels annotation annotations condition conditions ownerreference node nodes namespace namespaces secret secrets service services endpoint endpoints deployment",
    "deployments job jobs ingress ingresses event events finalizer finalizers cluster lock manager",
    "controller role roles watch watcher resource resources object objects",
  ),
]);
