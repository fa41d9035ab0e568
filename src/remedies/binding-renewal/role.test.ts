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

  it("is not too powerful otherwise", () => {
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

  it("is not restored", async () => {
    const scene = new Roles();
    scene.rules = [];
    scene.bind({ annotations: { "janitor/ttl": "30d" } });
    await scene.lapse(30 * DAY + 3_600_000, "2025-01-31T00:00:00Z");
    scene.remove();
    scene.rules = [rule("*", "*", "*")];
    expect(await scene.act()).toMatchObject({ status: "False", reason: "BindingRefused", intents: [] });
    scene.rules = [];
    expect((await scene.act()).intents).toMatchObject([{ verb: "create" }]);
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
