import { describe, expect, it } from "vitest";
import { TerminalError } from "../../core/errors";
import { describeCall, pathOf, resourceOf } from "./resources";
import { KINDS } from "../../core/kinds";

describe("pathOf", () => {
  it("supports the core group and the others", () => {
    expect(pathOf(KINDS.Pod, { namespace: "kai", name: "a", subresource: "log" })).toBe(
      "/api/v1/namespaces/kai/pods/a/log",
    );
    expect(pathOf(KINDS.ControllerResilience)).toBe("/apis/controller-resilience.io/v1alpha1/controllerresiliences");
    expect(
      pathOf(resourceOf({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" }), { name: "a:b" }),
    ).toBe("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/a%3Ab");
  });

  it("escapes names, so that none changes the path", () => {
    expect(pathOf(KINDS.Pod, { namespace: "kai", name: "../secrets/a?x#y" })).toBe(
      "/api/v1/namespaces/kai/pods/..%2Fsecrets%2Fa%3Fx%23y",
    );
  });
});

describe("resourceOf", () => {
  it("rejects a kind that the operator never writes", () => {
    expect(() => resourceOf({ apiVersion: "v1", kind: "Secret" })).toThrow(TerminalError);
  });
});

describe("describeCall", () => {
  it("formats calls as kubectl does", () => {
    expect(describeCall("list", KINDS.Pod)).toBe("list pods");
    expect(describeCall("list", KINDS.Pod, { namespace: "kai" })).toBe("list pods in kai");
    expect(describeCall("create", KINDS.Pod, { namespace: "kai", name: "a", subresource: "eviction" })).toBe(
      "create pods/eviction kai/a",
    );
  });
});
