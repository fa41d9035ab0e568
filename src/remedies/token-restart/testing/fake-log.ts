import type { ContainerView, PodView } from "../../../core/views";

export { FakeLogs, stamp, type FakeLine } from "../../../logs/testing/fake-logs";

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
