import { describe, expect, it } from "vitest";
import type { RoleRule } from "../../core/views";
import { excessOf } from "./role";
import { DAY, Scene } from "./testing/scene";

const RBAC = "rbac.authorization.k8s.io";
const rule = (apiGroup: string, resource: string, ...verbs: string[]): RoleRule => {
  return { apiGroups: [apiGroup], resources: [resource], verbs };
};

describe("a role", () => {
  it.each<[string, RoleRule, string]>([
    ["everything, whatever its name", rule("*", "*", "*"), "may escalate roles"],
    ["escalate", rule(RBAC, "roles", "get", "escalate"), "may escalate roles"],
    ["bind", rule(RBAC, "clusterroles", "bind"), "may bind clusterroles"],
    ["every verb on roles", rule(RBAC, "clusterroles", "*"), "may escalate clusterroles"],
    ["impersonate users", rule("", "users", "impersonate"), "may impersonate users"],
    ["impersonate groups by a wildcard", rule("*", "groups", "*"), "may impersonate groups"],
    ["all resources, to read", rule("*", "*", "get", "list"), 'may get, list all resources ("*")'],
    ["all resources of the core group", rule("", "*", "get"), 'may get all resources ("*")'],
  ])("with %s is too powerful for any binding", (_, one, excess) => {
    expect(excessOf([rule("", "pods", "get"), one], "RoleBinding")).toBe(excess);
    expect(excessOf([one], "ClusterRoleBinding")).toBe(excess);
  });

  it("that may impersonate ServiceAccounts is too powerful in all namespaces", () => {
    const edit = [rule("", "serviceaccounts", "impersonate")];
    expect(excessOf(edit, "RoleBinding")).toBeUndefined();
    expect(excessOf(edit, "ClusterRoleBinding")).toBe("may impersonate serviceaccounts");
  });

  const ADMISSION = "admissionregistration.k8s.io";
  const CERTIFICATES = "certificates.k8s.io";

  it.each<[string, RoleRule, string]>([
    ["read Secrets", rule("", "secrets", "get"), "may get secrets"],
    ["list Secrets", rule("", "secrets", "list"), "may list secrets"],
    ["watch Secrets", rule("*", "secrets", "delete", "watch"), "may watch secrets"],
    ["create tokens", rule("", "serviceaccounts/token", "create"), "may create serviceaccounts/token"],
    ["create tokens by a wildcard", rule("", "*/token", "*"), "may create serviceaccounts/token"],
    ["exec", rule("", "pods/exec", "create"), "may create pods/exec"],
    ["exec by GET", rule("", "pods/exec", "get"), "may get pods/exec"],
    ["attach", rule("", "pods/attach", "create"), "may create pods/attach"],
    ["add debug containers", rule("", "pods/ephemeralcontainers", "patch"), "may patch pods/ephemeralcontainers"],
    ["call the kubelet, if only by GET", rule("", "nodes/proxy", "get"), "may get nodes/proxy"],
    ["call the kubelet", rule("", "nodes/proxy", "patch"), "may patch nodes/proxy"],
    ["use every proxy", rule("", "*/proxy", "*"), "may get nodes/proxy"],
    [
      "change mutating webhooks",
      rule(ADMISSION, "mutatingwebhookconfigurations", "get", "patch"),
      "may patch mutatingwebhookconfigurations",
    ],
    [
      "create validating webhooks",
      rule(ADMISSION, "validatingwebhookconfigurations", "create"),
      "may create validatingwebhookconfigurations",
    ],
    [
      "bind mutating policies",
      rule(ADMISSION, "mutatingadmissionpolicybindings", "update"),
      "may update mutatingadmissionpolicybindings",
    ],
    ["change every kind of admission", rule(ADMISSION, "*", "*"), "may create mutatingwebhookconfigurations"],
    ["approve certificates", rule(CERTIFICATES, "signers", "approve"), "may approve signers"],
  ])("that may %s is too powerful in all namespaces", (_, one, excess) => {
    expect(excessOf([rule("", "pods", "get"), one], "ClusterRoleBinding")).toBe(excess);
    expect(excessOf([one], "RoleBinding")).toBeUndefined();
  });

  const named = (one: RoleRule, ...resourceNames: string[]): RoleRule => ({ ...one, resourceNames });

  it.each<[string, RoleRule]>([
    ["Secrets", named(rule("", "secrets", "get", "list", "watch"), "web-tls")],
    ["exec", named(rule("", "pods/exec", "create"), "web-0")],
    [
      "certificates of another signer",
      named(rule(CERTIFICATES, "signers", "approve"), "mine.io/*", "kubernetes.io/kubelet-serving"),
    ],
  ])("is not too powerful if its names are the limit: %s", (_, one) => {
    expect(excessOf([one], "ClusterRoleBinding")).toBeUndefined();
  });

  it.each<[string, RoleRule, string]>([
    ["an empty name, as a list has none", named(rule("", "secrets", "list"), "web-tls", ""), "may list secrets"],
    ["a role that may be cluster-admin", named(rule(RBAC, "clusterroles", "bind"), "mine"), "may bind clusterroles"],
    ["a group", named(rule("", "groups", "impersonate"), "system:masters"), "may impersonate groups"],
    [
      "a ServiceAccount",
      named(rule("", "serviceaccounts/token", "create"), "mine"),
      "may create serviceaccounts/token",
    ],
    ["a node with other pods", named(rule("", "nodes/proxy", "get"), "node-1"), "may get nodes/proxy"],
    [
      "a webhook that may be changed to match everything",
      named(rule(ADMISSION, "mutatingwebhookconfigurations", "patch"), "mine"),
      "may patch mutatingwebhookconfigurations",
    ],
    [
      "the signer of client certificates",
      named(rule(CERTIFICATES, "signers", "approve"), "kubernetes.io/kube-apiserver-client"),
      "may approve signers",
    ],
    ["every signer", named(rule(CERTIFICATES, "signers", "sign"), "kubernetes.io/*"), "may sign signers"],
    ["all resources", named(rule("", "*", "get"), "mine"), 'may get all resources ("*")'],
  ])("is too powerful in spite of names: %s", (_, one, excess) => {
    expect(excessOf([one], "ClusterRoleBinding")).toBe(excess);
  });

  it("is not too powerful otherwise", () => {
    const harmless = [
      rule("", "secrets", "create", "update", "delete"),
      rule("", "serviceaccounts", "get", "create", "delete"),
      rule("", "pods/log", "get"),
      rule("", "nodes", "get", "patch"),
      rule("", "nodes/metrics", "get"),
      rule("mine.io", "secrets", "get"),
      rule(ADMISSION, "mutatingwebhookconfigurations", "get", "list"),
      rule(CERTIFICATES, "certificatesigningrequests", "*"),
    ];
    expect(harmless.map(one => excessOf([one], "ClusterRoleBinding"))).toEqual(harmless.map(() => undefined));
    const own = [rule("mine.io", "*", "*"), rule("", "pods", "*"), rule(RBAC, "roles", "get"), rule("*", "*")];
    expect(excessOf([...own, { apiGroups: [], resources: [], verbs: ["*"] }], "ClusterRoleBinding")).toBeUndefined();
  });
});

/** A scene whose role has these rules. */
class Roles extends Scene {
  rules: readonly RoleRule[] = [rule("*", "*", "*")];
  roleError: Error | undefined;

  override role() {
    return this.roleError === undefined ? Promise.resolve({ rules: this.rules }) : Promise.reject(this.roleError);
  }
}

async function withDaysLeft(days: number): Promise<Roles> {
  const scene = new Roles();
  scene.bind({ annotations: { "janitor/ttl": "30d" } });
  await scene.clock.run((30 - days) * DAY);
  return scene;
}

describe("a binding of a role that is too powerful", () => {
  it("is not renewed, and the message says what a person can do", async () => {
    const scene = await withDaysLeft(0.5);
    const pass = await scene.act();
    expect(pass).toMatchObject({
      status: "False",
      reason: "BindingRefused",
      intents: [],
      stalled: { reason: "BindingRefused" },
      events: [{ reason: "BindingRefused" }],
    });
    expect(pass.message).toContain(
      "ClusterRole edit may escalate roles, so an operator that binds it is as good as cluster-admin; create a narrower role",
    );
    expect((await scene.pass()).events).toEqual([]);
    scene.rules = [rule("", "pods", "get")];
    expect((await scene.act()).intents).toMatchObject([{ verb: "patch" }]);
  });

  it("follows an aggregated role, whose rules change while the operator watches", async () => {
    const scene = new Roles();
    scene.rules = [rule("", "pods", "get")];
    const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: "aggregated" };
    scene.bind({ kind: "ClusterRoleBinding", roleRef, annotations: { "janitor/ttl": "30d" } });
    await scene.clock.run(28 * DAY);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "ExpiringSoon" });
    scene.rules = [...scene.rules, rule("", "secrets", "list")];
    await scene.clock.run(DAY);
    const pass = await scene.act();
    expect(pass).toMatchObject({ status: "False", reason: "BindingRefused", intents: [] });
    expect(pass.message).toContain("ClusterRole aggregated may list secrets");
  });

  it("is not even read before its first warning", async () => {
    const scene = await withDaysLeft(20);
    scene.roleError = new Error("must not be called");
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
  });

  it("is unknown without the right to read the role, so nothing is renewed", async () => {
    const scene = await withDaysLeft(0.5);
    scene.rules = [];
    scene.lacking.add("get edit");
    const pass = await scene.act();
    expect(pass).toMatchObject({ status: "False", reason: "RenewalForbidden", intents: [] });
    expect(pass.message).toContain('resources: [clusterroles], resourceNames: ["edit"], verbs: [get]}');
  });
});
