import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bindingView } from "./binding-view";
import { podView } from "./pod-view";
import { serviceAccountView, workloadView } from "./views";

const metadata = {
  name: "scheduler-0",
  namespace: "kai",
  uid: "u1",
  resourceVersion: "7",
  creationTimestamp: "2025-01-01T00:00:00Z",
};
const createdAtMs = Date.parse("2025-01-01T00:00:00Z");

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
      namespace: "kai",
      name: "scheduler-0",
      mountsToken: false,
      uid: "u1",
      resourceVersion: "7",
      createdAtMs,
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

  const withVolumes = (...sources: object[]) =>
    podView({
      metadata: { name: "a", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
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
    [
      "a token whose life is left to the API server",
      [{ serviceAccountToken: { path: "token" } }],
      { mountsToken: true },
    ],
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
        metadata: { name: "a", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
        status: { conditions: [{ type: "PodReadyToStartContainers", status, lastTransitionTime: at }] },
      });
    expect(pod("True")?.volumesReadyMs).toBe(Date.parse(at));
    expect(pod("False")?.volumesReadyMs).toBeUndefined();
  });

  const gates = [{ conditionType: "example.com/ready" }];

  it.each([
    { why: "the node controller marked it", ready: "False", containers: "True", expected: true },
    { why: "its containers are not ready", ready: "False", containers: "False", expected: undefined },
    { why: "it is Ready", ready: "True", containers: "True", expected: undefined },
    { why: "it may wait for a readiness gate", ready: "False", containers: "True", gates, expected: undefined },
  ])("is on a node that does not answer: $why", ({ ready, containers, gates: readinessGates, expected }) => {
    const conditions = [
      { type: "Ready", status: ready },
      { type: "ContainersReady", status: containers },
    ];
    expect(podView({ metadata, spec: { readinessGates }, status: { conditions } })?.nodeUnreachable).toBe(expected);
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

describe("workloadView", () => {
  const template = { spec: { serviceAccountName: "kai" } };

  it("takes one replica for granted, as the API server does", () => {
    expect(workloadView("Deployment", { metadata, spec: { template } })).toEqual({
      kind: "Deployment",
      namespace: "kai",
      name: "scheduler-0",
      uid: "u1",
      resourceVersion: "7",
      createdAtMs,
      labels: {},
      skip: false,
      serviceAccountName: "kai",
      replicas: 1,
      isComponent: true,
    });
  });

  it("knows a component of the cluster, and a program that logs the 401s of others, by its names, labels and pods", () => {
    const view = (name: string, labels: object, spec: object) =>
      workloadView("Deployment", { metadata: { ...metadata, name, labels }, spec: { template: { spec } } });
    expect(view("web", {}, { containers: [{ name: "a", image: "web" }] })).not.toHaveProperty("isComponent");
    expect(view("web", { app: "csi" }, {})?.isComponent).toBe(true);
    expect(view("web", {}, { serviceAccountName: "kyverno" })?.isComponent).toBe(true);
    expect(view("web", {}, { volumes: [{ hostPath: { path: "/etc/cni/net.d" } }] })?.isComponent).toBe(true);
    expect(view("web", {}, { priorityClassName: "system-node-critical" })?.isComponent).toBe(true);
    const argo = view("web", {}, { initContainers: [{ name: "a", image: "argoproj/argocd:v3" }] });
    expect(argo?.logsForeign401s).toBe(true);
  });

  it("knows its tokens and this project's annotations", () => {
    const token = (audience?: string): object => ({ serviceAccountToken: { path: "token", audience } });
    const spec = {
      automountServiceAccountToken: false,
      volumes: [{ projected: { sources: [token(), token("vault"), token("")] } }, { emptyDir: {} }],
    };
    const annotations = { "controller-resilience.io/skip": "true", "example.com/heartbeat": "1" };
    const raw = { metadata: { ...metadata, annotations }, spec: { template: { spec } } };
    for (const kind of ["Deployment", "StatefulSet", "DaemonSet"] as const) {
      expect(workloadView(kind, raw)).toMatchObject({
        ...{ skip: true, automount: false, tokenAudiences: ["", "vault"] },
        annotations: { "controller-resilience.io/skip": "true" },
      });
    }
  });

  it("counts the nodes of a DaemonSet", () => {
    const raw = { metadata, spec: { template }, status: { desiredNumberScheduled: 3 } };
    expect(workloadView("DaemonSet", raw)?.replicas).toBe(3);
    expect(workloadView("DaemonSet", { metadata })?.replicas).toBe(0);
  });
});

describe("serviceAccountView", () => {
  it("keeps identity and age", () => {
    expect(serviceAccountView({ metadata, secrets: [{ name: "s" }] })).toEqual({
      namespace: "kai",
      name: "scheduler-0",
      uid: "u1",
      createdAtMs,
    });
  });

  it("knows the hook that recreates it, and no other annotation", () => {
    const annotations = { "argocd.argoproj.io/hook": "PreSync", "example.com/a": "b" };
    const { hook, ...rest } = serviceAccountView({ metadata: { ...metadata, annotations } }) ?? {};
    expect(hook).toMatchObject({ tool: "Argo CD", annotation: "argocd.argoproj.io/hook: PreSync" });
    expect(Object.keys(rest)).not.toContain("annotations");
  });
});

describe("all views", () => {
  it("never throw, whatever they are given", () => {
    const odd = fc.anything({ maxDepth: 4, withNullPrototype: true });
    const almost = fc.record(
      {
        metadata: fc.oneof(
          odd,
          fc.record({
            name: fc.string(),
            uid: fc.string(),
            creationTimestamp: fc.constant("2025-01-01T00:00:00Z"),
            labels: odd,
            annotations: odd,
            ownerReferences: odd,
          }),
        ),
        spec: fc.oneof(odd, fc.record({ containers: odd, initContainers: fc.array(odd), template: odd })),
        status: fc.oneof(odd, fc.record({ containerStatuses: fc.array(odd), conditions: fc.array(odd) })),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(odd, almost), raw => {
        podView(raw);
        serviceAccountView(raw);
        workloadView("StatefulSet", raw);
      }),
      { numRuns: 500 },
    );
  });
});

describe("bindingView", () => {
  const raw = {
    metadata: {
      ...metadata,
      labels: { team: "kai" },
      annotations: { "janitor/ttl": "7d", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
      ownerReferences: [{ kind: "AccessRequest", name: "a", uid: "u2", controller: true }],
    },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", name: "kai", namespace: "kai" }, { kind: "User" }],
  };

  it.each<[string, object[], string]>([
    ["a reference without controller", [{ kind: "AccessRequest", name: "a", uid: "u2" }], "AccessRequest"],
    [
      "the controller among several",
      [
        { kind: "Grant", name: "g", uid: "u3" },
        { kind: "AccessRequest", name: "a", uid: "u2", controller: true },
      ],
      "AccessRequest",
    ],
    ["a reference without fields", [{}], ""],
  ])("has an owner: %s", (_, ownerReferences, kind) => {
    const binding = bindingView("RoleBinding", { ...raw, metadata: { ...raw.metadata, ownerReferences } });
    expect(binding?.owner?.kind).toBe(kind);
  });

  it("keeps what a renewal rests on and what a restored binding is made from, but not what kubectl keeps there", () => {
    expect(bindingView("RoleBinding", raw)).toEqual({
      kind: "RoleBinding",
      namespace: "kai",
      name: "scheduler-0",
      uid: "u1",
      resourceVersion: "7",
      createdAtMs,
      labels: { team: "kai" },
      annotations: { "janitor/ttl": "7d" },
      skip: false,
      owner: { kind: "AccessRequest", name: "a", uid: "u2" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
      subjects: [
        { kind: "ServiceAccount", name: "kai", namespace: "kai" },
        { kind: "User", name: "" },
      ],
    });
  });

  describe("of which something was written after its creation", () => {
    const marks = (...keys: string[]) => Object.fromEntries(keys.map(key => [`f:${key}`, {}]));
    const entry = (manager: string, time: string, annotations: object, labels: object = {}) => ({
      ...{ manager, operation: "Update", apiVersion: "rbac.authorization.k8s.io/v1", time, fieldsType: "FieldsV1" },
      fieldsV1: {
        "f:metadata": { "f:annotations": { ".": {}, ...annotations }, "f:labels": labels },
        "f:subjects": {},
      },
    });
    const writtenMs = (...managedFields: unknown[]) =>
      bindingView("RoleBinding", { ...raw, metadata: { ...raw.metadata, managedFields } })?.writtenMs;

    it("tells when, of what it has", () => {
      const first = entry("kubectl", "2025-01-01T00:00:00Z", marks("gone"), marks("team"));
      const second = entry("kubectl-annotate", "2025-03-01T00:00:00Z", marks("janitor/ttl", "gone"));
      expect(writtenMs(first, second)).toEqual({ "janitor/ttl": Date.parse("2025-03-01T00:00:00Z") });
      expect(writtenMs(first)).toBeUndefined();
    });

    it("tells the earliest time of several that own it: it was there by then", () => {
      const one = entry("a", "2025-03-01T00:00:00Z", marks("janitor/ttl"), marks("team"));
      const other = entry("b", "2025-02-01T00:00:00Z", marks("janitor/ttl"));
      expect(writtenMs(one, other)).toEqual({
        "janitor/ttl": Date.parse("2025-02-01T00:00:00Z"),
        team: Date.parse("2025-03-01T00:00:00Z"),
      });
    });

    it("tells nothing of what can't be understood", () => {
      fc.assert(
        fc.property(fc.anything(), odd => {
          const time = "2025-03-01T00:00:00Z";
          const all = [odd, { time, fieldsV1: odd }, { time, fieldsV1: { "f:metadata": { "f:labels": odd } } }];
          expect(writtenMs(...all)).toBeUndefined();
        }),
      );
    });
  });

  it("is none without a role", () => {
    expect(bindingView("RoleBinding", { ...raw, roleRef: {} })).toBeNull();
  });
});
