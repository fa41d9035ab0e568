import { describe, expect, it } from "vitest";
import { type Intent, isPermitted, requiredPermission } from "./intent";

function intent(verb: Intent["verb"], apiVersion: string, kind: string): Intent {
  return { verb, target: { apiVersion, kind, name: "x" }, why: "because", eventReason: "Done" };
}

it.each<[Intent["verb"], string, string, string]>([
  ["evict", "v1", "Pod", "create pods/eviction of ''"],
  ["delete", "v1", "Pod", "delete pods of ''"],
  ["patch", "apps/v1", "DaemonSet", "patch daemonsets of 'apps'"],
  ["apply", "flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "patch flowschemas of 'flowcontrol.apiserver.k8s.io'"],
  ["create", "rbac.authorization.k8s.io/v1", "RoleBinding", "create rolebindings of 'rbac.authorization.k8s.io'"],
  ["patch", "networking.k8s.io/v1", "Ingress", "patch Ingress of 'networking.k8s.io'"],
])("the right that an intent needs %s of %s %s is %s", (verb, apiVersion, kind, expected) => {
  const right = requiredPermission(intent(verb, apiVersion, kind));
  expect(`${right.verb} ${right.resource} of '${right.apiGroup}'`).toBe(expected);
});

describe("what a remedy may do", () => {
  const may = [{ apiGroup: "apps", resource: "deployments", verbs: ["get", "patch"], why: "to roll them" }];

  it("covers a right of the same group, resource and verb, and no other", () => {
    const right = { apiGroup: "apps", resource: "deployments", verb: "patch" };
    expect(isPermitted(right, may)).toBe(true);
    expect(isPermitted({ ...right, verb: "delete" }, may)).toBe(false);
    expect(isPermitted({ ...right, resource: "deployments/scale" }, may)).toBe(false);
    expect(isPermitted({ ...right, apiGroup: "" }, may)).toBe(false);
    expect(isPermitted(right, [])).toBe(false);
  });
});
