import { describe, expect, it } from "vitest";
import { TransientError, UnauthorizedError } from "../../core/errors";
import type { RoleRule, RoleView } from "../../core/views";
import { excessOf } from "./role";
import { DAY, HOUR, Scene } from "./testing/scene";

const RBAC = "rbac.authorization.k8s.io";
const rule = (apiGroup: string, resource: string, ...verbs: string[]): RoleRule => {
  return { apiGroups: [apiGroup], resources: [resource], verbs };
};

const USERS = "authentication.k8s.io";

const HERE = { kind: "RoleBinding", namespace: "team" } as const;
const SYSTEM = { kind: "RoleBinding", namespace: "kube-system" } as const;
const EVERYWHERE = { kind: "ClusterRoleBinding", namespace: "" } as const;

describe("a role", () => {
  it.each<[string, RoleRule, string]>([
    ["everything, whatever its name", rule("*", "*", "*"), "may escalate roles"],
    ["escalate", rule(RBAC, "roles", "get", "escalate"), "may escalate roles"],
    ["bind", rule(RBAC, "clusterroles", "bind"), "may bind clusterroles"],
    ["every verb on roles", rule(RBAC, "clusterroles", "*"), "may escalate clusterroles"],
    ["impersonate users", rule("", "users", "impersonate"), "may impersonate users"],
    ["impersonate groups by a wildcard", rule("*", "groups", "*"), "may impersonate groups"],
    ["constrained impersonation", rule(USERS, "users", "impersonate:user-info"), "may impersonate:user-info users"],
    ["its use", rule("", "pods", "impersonate-on:user-info:list"), "may impersonate-on:user-info:list pods"],
    ["constrained impersonation by a star", rule(USERS, "users", "*"), "may * users"],
    ["all resources, to read", rule("*", "*", "get", "list"), 'may get, list all resources ("*")'],
    ["all resources of the core group", rule("", "*", "get"), 'may get all resources ("*")'],
  ])("with %s is too powerful for any binding", (_, one, excess) => {
    expect(excessOf([rule("", "pods", "get"), one], HERE)).toBe(excess);
    expect(excessOf([one], EVERYWHERE)).toBe(excess);
  });

  const ADMISSION = "admissionregistration.k8s.io";
  const CERTIFICATES = "certificates.k8s.io";
  const NODE_CLIENT = "certificatesigningrequests/nodeclient";
  const [MUTATING, VALIDATING] = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
  const CLIENTS = "kubernetes.io/kube-apiserver-client";
  const POLICIES = "mutatingadmissionpolicybindings";

  it.each<[string, RoleRule, string]>([
    ["read Secrets", rule("", "secrets", "get"), "may get secrets"],
    ["list Secrets", rule("", "secrets", "list"), "may list secrets"],
    ["watch Secrets", rule("*", "secrets", "delete", "watch"), "may watch secrets"],
    ["read Secrets by an empty patch", rule("", "secrets", "patch"), "may patch secrets"],
    ["read Secrets by deleting them in the foreground", rule("", "secrets", "delete"), "may delete secrets"],
    ["list Secrets by deleting none", rule("", "secrets", "deletecollection"), "may deletecollection secrets"],
    ["make bootstrap tokens, and so become any node", rule("", "secrets", "create"), "may create secrets"],
    ["overwrite a password of another controller", rule("", "secrets", "update"), "may update secrets"],
    ["create tokens", rule("", "serviceaccounts/token", "create"), "may create serviceaccounts/token"],
    ["create tokens by a wildcard", rule("", "*/token", "*"), "may create serviceaccounts/token"],
    ["exec", rule("", "pods/exec", "create"), "may create pods/exec"],
    ["exec by GET", rule("", "pods/exec", "get"), "may get pods/exec"],
    ["attach", rule("", "pods/attach", "create"), "may create pods/attach"],
    ["add debug containers", rule("", "pods/ephemeralcontainers", "patch"), "may patch pods/ephemeralcontainers"],
    ["call the kubelet, if only by GET", rule("", "nodes/proxy", "get"), "may get nodes/proxy"],
    ["call the kubelet", rule("", "nodes/proxy", "patch"), "may patch nodes/proxy"],
    ["use every proxy", rule("", "*/proxy", "*"), "may get nodes/proxy"],
    ["change mutating webhooks", rule(ADMISSION, MUTATING, "get", "patch"), `may patch ${MUTATING}`],
    ["create validating webhooks", rule(ADMISSION, VALIDATING, "create"), `may create ${VALIDATING}`],
    ["bind mutating policies", rule(ADMISSION, POLICIES, "update"), `may update ${POLICIES}`],
    ["change every kind of admission", rule(ADMISSION, "*", "*"), "may create mutatingwebhookconfigurations"],
    ["take over APIs", rule("apiregistration.k8s.io", "apiservices", "update"), "may update apiservices"],
    ["approve certificates", rule(CERTIFICATES, "signers", "approve"), "may approve signers"],
    ["become any node", rule(CERTIFICATES, NODE_CLIENT, "create"), `may create ${NODE_CLIENT}`],
  ])("that may %s is too powerful in all namespaces", (_, one, excess) => {
    expect(excessOf([rule("", "pods", "get"), one], EVERYWHERE)).toBe(excess);
    expect(excessOf([one], SYSTEM)).toBe(excess);
    expect(excessOf([one], HERE, "team")).toBe(excess);
    expect(excessOf([one], HERE, "operator")).toBeUndefined();
  });

  const [approve, debug] = [rule(CERTIFICATES, "signers", "approve"), rule("", "*/ephemeralcontainers", "patch")];
  const named = (one: RoleRule, ...resourceNames: string[]): RoleRule => ({ ...one, resourceNames });

  it.each<[string, RoleRule]>([
    ["Secrets", named(rule("", "secrets", "get", "list", "watch", "create", "update"), "web-tls")],
    ["certificates of others", named(approve, "mine.io/*", "kubernetes.io/kubelet-serving")],
  ])("is not too powerful if its names are the limit: %s", (_, one) => {
    expect(excessOf([one], EVERYWHERE)).toBeUndefined();
  });

  it.each<[string, RoleRule, string]>([
    ["an empty name, as a list has none", named(rule("", "secrets", "list"), "web-tls", ""), "may list secrets"],
    ["a role that may be cluster-admin", named(rule(RBAC, "clusterroles", "bind"), "mine"), "may bind clusterroles"],
    ["a group", named(rule("", "groups", "impersonate"), "system:masters"), "may impersonate groups"],
    ["one account", named(rule("", "serviceaccounts/token", "create"), "mine"), "may create serviceaccounts/token"],
    ["a pod that holds keys", named(rule("", "pods/exec", "create"), "etcd-0"), "may create pods/exec"],
    ["debug containers there", named(debug, "etcd-0"), "may patch pods/ephemeralcontainers"],
    ["a node with other pods", named(rule("", "nodes/proxy", "get"), "node-1"), "may get nodes/proxy"],
    ["a webhook that may match everything", named(rule(ADMISSION, MUTATING, "patch"), "mine"), `may patch ${MUTATING}`],
    ["the signer of client certificates", named(approve, CLIENTS), "may approve signers"],
    ["every signer", named(rule(CERTIFICATES, "signers", "sign"), "kubernetes.io/*"), "may sign signers"],
    ["all resources", named(rule("", "*", "get"), "mine"), 'may get all resources ("*")'],
  ])("is too powerful in spite of names: %s", (_, one, excess) => {
    expect(excessOf([one], EVERYWHERE)).toBe(excess);
  });

  it("is not too powerful otherwise", () => {
    const harmless = [
      rule("", "serviceaccounts", "get", "create", "delete"),
      rule("", "pods/log", "get"),
      rule("", "nodes", "get", "patch"),
      rule("", "nodes/metrics", "get"),
      rule("mine.io", "secrets", "get"),
      rule(ADMISSION, "mutatingwebhookconfigurations", "get", "list"),
      rule(CERTIFICATES, "certificatesigningrequests", "*"),
    ];
    expect(harmless.map(one => excessOf([one], EVERYWHERE))).toEqual(harmless.map(() => undefined));
    const own = [rule("mine.io", "*", "*"), rule("", "pods", "*"), rule(RBAC, "roles", "get"), rule("*", "*")];
    expect(excessOf([...own, { apiGroups: [], resources: [], verbs: ["*"] }], EVERYWHERE)).toBeUndefined();
  });
});

/** A scene with RoleBindings of the ClusterRoles `edit`, which has these rules and may not be readable, and `view`. */
class Roles extends Scene {
  rules: readonly RoleRule[] = [rule("*", "*", "*")];
  failure: Error | undefined;
  hangs = false;
  isGone = false;
  user = "kubernetes-admin";

  override ownUser(): Promise<string> {
    return Promise.resolve(this.user);
  }

  override role(_kind: string, _namespace: string, name: string): Promise<RoleView | null> {
    if (name === "view") return Promise.resolve({ rules: [] });
    if (this.hangs) return new Promise(() => undefined);
    if (this.isGone) return Promise.resolve(null);
    return this.failure === undefined ? Promise.resolve({ rules: this.rules }) : Promise.reject(this.failure);
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
    const pass = await scene.pass();
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
    expect((await scene.pass()).intents).toMatchObject([{ verb: "patch" }]);
  });

  it("is not renewed in the operator's own namespace either, if it reaches credentials there", async () => {
    const scene = await withDaysLeft(0.5);
    scene.rules = [rule("", "serviceaccounts/token", "create")];
    scene.user = "system:serviceaccount:team:controller-resilience";
    expect(await scene.pass()).toMatchObject({ reason: "BindingRefused", intents: [] });
    scene.user = "system:serviceaccount:other:controller-resilience";
    expect((await scene.pass()).intents).toMatchObject([{ verb: "patch" }]);
  });

  it("is not renewed there by a process with other credentials: the ServiceAccount there has the same rights", async () => {
    const scene = Object.assign(await withDaysLeft(0.5), { ownNamespace: "team" });
    scene.rules = [rule("", "serviceaccounts/token", "create")];
    expect(await scene.pass()).toMatchObject({ reason: "BindingRefused", intents: [] });
  });

  it("follows an aggregated role, whose rules change while the operator watches", async () => {
    const scene = new Roles();
    scene.rules = [rule("", "pods", "get")];
    const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: "aggregated" };
    scene.bind({ kind: "ClusterRoleBinding", roleRef, annotations: { "janitor/ttl": "30d" } });
    await scene.clock.run(28 * DAY);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
    scene.rules = [...scene.rules, rule("", "secrets", "list")];
    await scene.clock.run(DAY);
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "BindingRefused", intents: [] });
    expect(pass.message).toContain("ClusterRole aggregated may list secrets");
  });

  it("is unknown without the right to read the role, so nothing is renewed", async () => {
    const scene = await withDaysLeft(0.5);
    scene.rules = [];
    scene.lacking.add("get edit");
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "Forbidden", intents: [] });
    expect(pass.message).toContain('resources: [clusterroles], resourceNames: ["edit"], verbs: [get]}');
  });

  it("is unknown to who may read it in one namespace: no Role gives a ClusterRole", async () => {
    const scene = await withDaysLeft(0.5);
    scene.may = ({ verb, namespace }) => Promise.resolve(verb !== "get" || namespace !== undefined);
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "Forbidden", intents: [] });
    expect(pass.message).toContain("verbs: [get]} by a ClusterRoleBinding.");
  });
});

const FAILED = "get clusterroles edit: 503 Service Unavailable";

async function unreadable(days: number): Promise<Roles> {
  const scene = new Roles();
  scene.rules = [];
  for (const name of ["edit", "view"]) {
    scene.bind({ name, roleRef: { apiGroup: RBAC, kind: "ClusterRole", name }, annotations: { "janitor/ttl": "30d" } });
  }
  await scene.clock.run((30 - days) * DAY);
  scene.failure = new TransientError(FAILED);
  return scene;
}

describe("a role that cannot be read", () => {
  it("delays only the renewal of its own binding, and is read again after a minute", async () => {
    const scene = await unreadable(1);
    const pass = await scene.pass();
    expect(pass.intents).toMatchObject([{ verb: "patch", target: { name: "view" } }]);
    expect(pass).toMatchObject({ status: "True", progressing: true });
    expect(pass).not.toHaveProperty("stalled");
    expect(pass.message).toContain(
      `RoleBinding edit expires at 2025-01-31T00:00:00Z (janitor/ttl); the renewal waits: the operator binds no role unread, and cannot read ClusterRole edit: ${FAILED}.`,
    );
    expect((await scene.pass()).recheckAfterMs).toBe(60_000);
    scene.failure = undefined;
    expect((await scene.pass()).intents).toMatchObject([{ target: { name: "edit" } }]);
  });

  it("delays only its own binding if it does not answer in time", async () => {
    const scene = await unreadable(1);
    scene.hangs = true;
    for (const intents of [[{ target: { name: "view" } }], []]) {
      const pass = scene.pass();
      await scene.clock.run(30_000);
      expect((await pass).intents).toMatchObject(intents);
    }
  });

  it("is no problem before the renewal is due", async () => {
    const scene = await unreadable(5);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current", progressing: false });
  });

  it("neither ends a refusal nor announces it again", async () => {
    const scene = await unreadable(5);
    scene.failure = undefined;
    scene.lacking.add("bind edit");
    expect((await scene.pass()).events?.[0]).toMatchObject({ reason: "BindingRenewalForbidden" });
    scene.failure = new TransientError(FAILED);
    scene.lacking.clear();
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Forbidden", events: [] });
  });

  it("is bound as little if it is gone, also where it was refused before, as between its deletion and its next creation", async () => {
    const scene = await withDaysLeft(0.5);
    for (const isGone of [false, true]) {
      scene.isGone = isGone;
      expect(await scene.pass()).toMatchObject({ status: "False", reason: "BindingRefused", intents: [] });
    }
    const unseen = await withDaysLeft(0.5);
    unseen.isGone = true;
    const pass = await unseen.pass();
    expect([pass.intents, pass.message]).toEqual([[], expect.stringContaining("ClusterRole edit: it does not exist")]);
  });

  it("needs a person an hour after the renewal was due", async () => {
    const scene = await unreadable(1);
    await scene.pass();
    await scene.clock.run(HOUR - 1_000);
    expect(await scene.pass()).not.toHaveProperty("stalled");
    await scene.clock.run(1_000);
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "Renewing", stalled: { reason: "Renewing" }, intents: [] });
    expect(pass.stalled?.message).toContain(
      `cannot read ClusterRole edit: ${FAILED}. It has been due since 2025-01-30T00:00:00Z`,
    );
    expect(pass.stalled?.message).toContain("renew the binding by hand");
    scene.failure = undefined;
    expect(await scene.pass()).toMatchObject({ status: "True", intents: [{ target: { name: "edit" } }] });
  });

  it("stays the failure of the whole pass if the operator's own identity is rejected", async () => {
    const scene = await unreadable(1);
    scene.failure = new UnauthorizedError("get clusterroles edit: 401 Unauthorized");
    await expect(scene.pass()).rejects.toThrow("401");
  });
});
