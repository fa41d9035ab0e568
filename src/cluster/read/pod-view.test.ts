import { describe, expect, it } from "vitest";
import { podView } from "./pod-view";
import { createdAtMs, identity, metadata } from "./testing/identity";

describe("podView", () => {
  it("keeps what remedies read", () => {
    const pod = {
      metadata: {
        ...metadata,
        deletionTimestamp: "2025-01-01T01:00:00Z",
        labels: { app: "kai" },
        annotations: { "controller-resilience.io/skip": "true" },
        managedFields: [{ manager: "kubelet" }],
        ownerReferences: [
          { kind: "Other", name: "o", uid: "u8" },
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "kai-1", uid: "u9", controller: true },
        ],
      },
      spec: {
        nodeName: "n1",
        serviceAccountName: "kai",
        initContainers: [{ name: "setup" }, { name: "proxy", restartPolicy: "Always" }],
        containers: [{ name: "main", image: "kai:1" }],
      },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2025-01-01T00:00:30Z" }],
        initContainerStatuses: [
          { name: "setup", restartCount: 0, state: { terminated: { startedAt: "2025-01-01T00:00:01Z" } } },
          { name: "proxy", restartCount: 1, state: { running: { startedAt: "2025-01-01T00:00:02Z" } } },
        ],
        containerStatuses: [
          {
            name: "main",
            restartCount: 2,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { finishedAt: "2025-01-01T00:00:20Z" } },
          },
        ],
      },
    };
    expect(podView(pod)).toEqual({
      ...identity,
      mountsToken: false,
      deletedAtMs: createdAtMs + 3_600_000,
      phase: "Running",
      ready: true,
      readySinceMs: createdAtMs + 30_000,
      nodeName: "n1",
      isComponent: true,
      serviceAccountName: "kai",
      labels: { app: "kai" },
      skip: true,
      owner: { kind: "ReplicaSet", name: "kai-1", uid: "u9" },
      containers: [
        { name: "setup", role: "init", restartCount: 0, running: false, startedAtMs: createdAtMs + 1_000 },
        { name: "proxy", role: "sidecar", restartCount: 1, running: true, startedAtMs: createdAtMs + 2_000 },
        { name: "main", role: "main", restartCount: 2, running: false, lastFinishedAtMs: createdAtMs + 20_000 },
      ],
    });
  });

  it("keeps its address and the TCP ports that it declares", () => {
    const ports = [{ name: "m", containerPort: 8080 }, { containerPort: 53, protocol: "UDP" }, { containerPort: 81 }];
    const view = podView({
      metadata,
      spec: { containers: [{ name: "a", ports }, { name: "b" }] },
      status: { podIP: "10.1.2.3" },
    });
    expect(view?.podIP).toBe("10.1.2.3");
    expect(view?.ports).toEqual([
      { name: "m", port: 8080 },
      { name: "", port: 81 },
    ]);
  });

  it("knows a pod that nothing has happened to yet", () => {
    expect(podView({ metadata, spec: { containers: [{ name: "main" }] } })).toMatchObject({
      phase: "Unknown",
      ready: false,
      serviceAccountName: "default",
      skip: false,
      containers: [{ name: "main", role: "main", restartCount: 0, running: false }],
    });
  });

  it.each(["name", "uid", "creationTimestamp"])("is null without %s, since decisions rest on it", field => {
    expect(podView({ metadata: { ...metadata, [field]: undefined } })).toBeNull();
    expect(podView({ metadata: { ...metadata, [field]: 7 } })).toBeNull();
  });

  it.each<[string, object, object]>([
    ["/etc/cni/net.d", { hostNetwork: true }, { hostNetwork: true, cniFolder: true }],
    ["/opt/cni/bin", {}, { cniFolder: true }],
    ["/var/lib/vendor/multus-cni", {}, { cniFolder: true }],
    ["/var/lib/picnic", { hostNetwork: false }, {}],
    ["/etc", { hostNetwork: true }, { hostNetwork: true }],
  ])("knows what an agent of a network plugin needs: %s %j", (path, spec, expected) => {
    const named = { ...metadata, name: "web-0" };
    const pod = podView({ metadata: named, spec: { ...spec, volumes: [{ name: "host", hostPath: { path } }] } });
    const { hostNetwork, cniFolder } = pod!;
    expect({ hostNetwork, cniFolder }).toEqual({ hostNetwork: undefined, cniFolder: undefined, ...expected });
    expect(pod?.isComponent).toBe(cniFolder);
  });

  it.each([
    [3, "kube-api-access-x7k2p", undefined],
    [4, "kube-api-access-x7k2p", true],
    [4, "other", undefined],
  ])("knows whether admission adds files to the default token: %d sources of volume %s", (length, name, expected) => {
    const volumes = [{ name, projected: { sources: Array.from({ length }, () => ({})) } }];
    expect(podView({ metadata, spec: { volumes } })?.hasDefaultTokenExtras).toBe(expected);
  });

  const withVolumes = (...sources: object[]) =>
    podView({
      metadata,
      spec: {
        volumes: [
          { name: "other", emptyDir: {} },
          { name: "token", projected: { sources } },
        ],
      },
    });

  it.each<[string, object[], object]>([
    [
      "the default token",
      [{ serviceAccountToken: { path: "token", expirationSeconds: 3607 } }],
      { mountsToken: true, tokenExpirationSeconds: 3607 },
    ],
    ["no token at all", [{ configMap: { name: "kube-root-ca.crt" } }], { mountsToken: false }],
    [
      "a token for somebody else",
      [{ serviceAccountToken: { audience: "vault", expirationSeconds: 600 } }],
      { mountsToken: false },
    ],
    [
      "the shortest of two",
      [
        { serviceAccountToken: { expirationSeconds: 3607 } },
        { serviceAccountToken: { audience: "", expirationSeconds: 600 } },
      ],
      { mountsToken: true, tokenExpirationSeconds: 600 },
    ],
    ["a token whose life the API server chooses", [{ serviceAccountToken: { path: "token" } }], { mountsToken: true }],
  ])("knows %s", (_sentence, sources, expected) => {
    const { mountsToken, tokenExpirationSeconds } = withVolumes(...sources)!;
    expect({ mountsToken, ...(tokenExpirationSeconds === undefined ? {} : { tokenExpirationSeconds }) }).toEqual(
      expected,
    );
  });

  it("knows tokens with an audience, since that may be the API server's", () => {
    const pod = withVolumes(
      { serviceAccountToken: { audience: "vault", expirationSeconds: 600 } },
      { serviceAccountToken: { audience: "https://kubernetes.default.svc" } },
      { serviceAccountToken: { expirationSeconds: 3607 } },
    );
    expect(pod).toMatchObject({
      mountsToken: true,
      tokenExpirationSeconds: 3607,
      audienceTokens: [{ audience: "vault", expirationSeconds: 600 }, { audience: "https://kubernetes.default.svc" }],
    });
    expect(withVolumes({ serviceAccountToken: {} })).not.toHaveProperty("audienceTokens");
  });

  it("knows since when its volumes are there, if they are", () => {
    const at = "2026-01-01T00:00:05Z";
    const pod = (status: string) =>
      podView({
        metadata,
        status: { conditions: [{ type: "PodReadyToStartContainers", status, lastTransitionTime: at }] },
      });
    expect(pod("True")?.volumesReadyMs).toBe(Date.parse(at));
    expect(pod("False")?.volumesReadyMs).toBeUndefined();
  });

  it.each([
    { why: "its containers are not ready", ready: "False", containers: "False" },
    { why: "it is Ready", ready: "True", containers: "True" },
    { why: "it still waits", ready: "False", reason: "ReadinessGatesNotReady", containers: "True", gate: "True" },
    { why: "it waits for a gate, on a kubelet of others", ready: "False", containers: "True" },
    { why: "the node controller marked it", ready: "False", containers: "True", gate: "True", expected: true },
  ])("is on a node that does not answer: $why", ({ ready, reason, containers, gate = "False", expected }) => {
    const conditions = [
      { type: "Ready", status: ready, reason },
      { type: "ContainersReady", status: containers },
      { type: "a.b/c", status: gate },
    ];
    expect(
      podView({ metadata, spec: { readinessGates: [{ conditionType: "a.b/c" }] }, status: { conditions } })
        ?.nodeUnreachable,
    ).toBe(expected);
  });

  it("takes no label for the prototype", () => {
    const raw: unknown = JSON.parse(
      `{"metadata": ${JSON.stringify({ ...metadata, labels: 0 }).replace('"labels":0', '"labels":{"__proto__":"x"}')}}`,
    );
    const labels = podView(raw)?.labels;
    expect(Object.getPrototypeOf(labels)).toBe(Object.prototype);
    expect(Object.keys(labels ?? {})).toEqual(["__proto__"]);
  });
});
