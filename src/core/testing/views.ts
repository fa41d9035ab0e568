import type { BindingView, ContainerView, PodView, WorkloadView } from "../views";

/** A running container. */
export function container(over: Partial<ContainerView> = {}): ContainerView {
  return { name: "main", role: "main", restartCount: 0, running: true, ...over };
}

/** A Ready pod of the Deployment `web`. */
export function pod(over: Partial<PodView> = {}): PodView {
  return {
    namespace: "team",
    name: "web-5d-a",
    uid: "uid-a",
    resourceVersion: "1",
    createdAtMs: Date.parse("2025-01-01T00:00:00Z"),
    phase: "Running",
    ready: true,
    readySinceMs: Date.parse("2025-01-01T00:00:05Z"),
    serviceAccountName: "web",
    mountsToken: true,
    labels: { "pod-template-hash": "5d" },
    skip: false,
    owner: { kind: "ReplicaSet", name: "web-5d", uid: "rs" },
    containers: [container()],
    ...over,
  };
}

/** The Deployment `web`. */
export function workload(over: Partial<WorkloadView> = {}): WorkloadView {
  return {
    kind: "Deployment",
    namespace: "team",
    name: "web",
    uid: "w",
    resourceVersion: "7",
    labels: { app: "web" },
    skip: false,
    serviceAccountName: "web",
    replicas: 1,
    ...over,
  };
}

/** A RoleBinding. */
export function binding(over: Partial<BindingView> = {}): BindingView {
  return {
    kind: "RoleBinding",
    namespace: "team",
    name: "rights",
    uid: "b",
    resourceVersion: "7",
    createdAtMs: 0,
    labels: {},
    annotations: {},
    skip: false,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "rights" },
    subjects: [],
    ...over,
  };
}
