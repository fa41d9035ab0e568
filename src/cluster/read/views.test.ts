import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bindingView, clusterObjectView, leaseView, namespaceView, roleView, serviceAccountView } from "./views";
import { daemonSetView, workloadView } from "./workload-views";
import { podView } from "./pod-view";
import { identity, metadata } from "./testing/identity";

describe("serviceAccountView", () => {
  it("knows the hook that recreates it, and no other annotation", () => {
    const annotations = { "argocd.argoproj.io/hook": "PreSync", "example.com/a": "b" };
    const { hook, ...rest } = serviceAccountView({ metadata: { ...metadata, annotations } }) ?? {};
    expect(hook).toMatchObject({ tool: "Argo CD", annotation: "argocd.argoproj.io/hook: PreSync" });
    expect(Object.keys(rest)).not.toContain("annotations");
  });

  it("knows its controller, or else its first owner, if a message can name it", () => {
    const owner = { apiVersion: "example.com/v1", kind: "App", name: "a", uid: "o" };
    const [other, odd] = [
      { ...owner, kind: "Config", controller: true },
      { ...owner, name: "a\u001b[2J" },
    ];
    const ownerOf = (...ownerReferences: object[]): unknown =>
      serviceAccountView({ metadata: { ...metadata, ownerReferences } })?.owner;
    expect(ownerOf(owner, other)).toMatchObject({ kind: "Config", name: "a" });
    expect(ownerOf(owner)).toMatchObject({ kind: "App", name: "a" });
    expect(ownerOf(odd)).toBeUndefined();
  });
});

it("all views never throw, whatever they are given", () => {
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
          managedFields: odd,
        }),
      ),
      spec: fc.oneof(odd, fc.record({ containers: odd, initContainers: fc.array(odd), template: odd })),
      status: fc.oneof(odd, fc.record({ containerStatuses: fc.array(odd), conditions: fc.array(odd) })),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(odd, almost), raw => {
      for (const view of [podView, serviceAccountView, namespaceView, roleView, leaseView, daemonSetView]) view(raw);
      for (const kind of ["RoleBinding", "ClusterRoleBinding"] as const) bindingView(kind, raw);
      workloadView("StatefulSet", raw);
      clusterObjectView("FlowSchema", raw);
    }),
    { numRuns: 500 },
  );
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
      ...identity,
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

  it("has a ServiceAccount without a namespace in its own, as the API server understands it", () => {
    const subjects = [
      { kind: "ServiceAccount", name: "kai" },
      { kind: "User", name: "ann" },
    ];
    const { subjects: local } = bindingView("RoleBinding", { ...raw, subjects }) ?? {};
    expect(local).toEqual([{ ...subjects[0], namespace: identity.namespace }, subjects[1]]);
    const wide = bindingView("ClusterRoleBinding", { ...raw, metadata: { ...metadata, namespace: "" }, subjects });
    expect(wide?.subjects).toEqual(subjects);
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

const RAW = {
  metadata: {
    name: "controller-resilience-a",
    uid: "u",
    resourceVersion: "7",
    creationTimestamp: "2025-01-01T00:00:00Z",
    labels: { a: "b" },
  },
  spec: { matchingPrecedence: 1000 },
  status: { conditions: [{ type: "Dangling", status: "False", reason: "Found", message: "" }, "odd"] },
};

describe("an object outside of namespaces", () => {
  it("is read with its spec as it is", () => {
    expect(clusterObjectView("FlowSchema", RAW)).toEqual({
      apiVersion: "flowcontrol.apiserver.k8s.io/v1",
      kind: "FlowSchema",
      name: "controller-resilience-a",
      uid: "u",
      resourceVersion: "7",
      createdAtMs: Date.parse("2025-01-01T00:00:00Z"),
      labels: { a: "b" },
      annotations: {},
      spec: { matchingPrecedence: 1000 },
      isDangling: false,
    });
  });

  it.each([
    ["True", true],
    ["Unknown", undefined],
  ])("is dangling if the API server says so: %s", (status, isDangling) => {
    const raw = { ...RAW, status: { conditions: [{ type: "Dangling", status }] } };
    expect(clusterObjectView("FlowSchema", raw)?.isDangling).toBe(isDangling);
  });

  it.each([null, {}, { metadata: { name: "a" } }, "text"])("is none without identity and age: %j", raw => {
    expect(clusterObjectView("FlowSchema", raw)).toBeNull();
  });
});

it("reads the rules of a role, also those that an aggregated ClusterRole was given", () => {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { "mine.io/aggregate": "true" } }] };
  const rules = [
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["web-tls"], verbs: ["get"] },
    { nonResourceURLs: ["/metrics"], verbs: ["get"] },
  ];
  expect(roleView({ aggregationRule, rules })).toEqual({
    rules: [
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["web-tls"], verbs: ["get"] },
      { apiGroups: [], resources: [], resourceNames: [], verbs: ["get"] },
    ],
  });
  expect(roleView({ aggregationRule, rules: null })).toEqual({ rules: [] });
});
