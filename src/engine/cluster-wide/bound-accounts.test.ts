import { describe, expect, it } from "vitest";
import type { BindingView, SubjectView } from "../../core/views";
import { BoundAccounts, CLUSTER_ROLE_BINDINGS } from "./bound-accounts";

const binding = (...subjects: SubjectView[]): BindingView => ({
  ...{ kind: "RoleBinding", namespace: "x", name: "b", uid: "u", resourceVersion: "1", createdAtMs: 0, labels: {} },
  ...{ annotations: {}, skip: false, roleRef: { apiGroup: "", kind: "Role", name: "r" }, subjects },
});

const account = (namespace: string, name: string): SubjectView => ({ kind: "ServiceAccount", namespace, name });
const group = (name: string): SubjectView => ({ kind: "Group", name });

describe("BoundAccounts", () => {
  it("knows an account as long as one binding of any namespace names it", () => {
    const bound = new BoundAccounts();
    expect([...bound.replace("a", [binding(account("web", "x"))])]).toEqual(["web"]);
    expect([...bound.replace(CLUSTER_ROLE_BINDINGS, [binding(account("web", "x"), account("db", "y"))])]).toEqual([
      "db",
    ]);
    expect([bound.has("web", "x"), bound.has("db", "y"), bound.has("web", "y")]).toEqual([true, true, false]);
    expect([...bound.replace("a", [])]).toEqual([]);
    expect([...bound.replace(CLUSTER_ROLE_BINDINGS, [])]).toEqual(["web", "db"]);
    expect(bound.has("web", "x")).toBe(false);
  });

  it("knows an account by its user name, too", () => {
    const bound = new BoundAccounts();
    bound.replace("a", [
      binding({ kind: "User", name: "system:serviceaccount:web:x" }, { kind: "User", name: "jane" }),
    ]);
    expect([bound.has("web", "x"), bound.has("web", "y"), bound.has("jane", "")]).toEqual([true, false, false]);
  });

  it("counts the group of a namespace, and not the groups that the defaults bind", () => {
    const bound = new BoundAccounts();
    bound.replace("a", [binding(group("system:serviceaccounts:web"))]);
    expect([bound.has("web", "any"), bound.has("db", "any")]).toEqual([true, false]);
    bound.replace("a", [binding(group("system:serviceaccounts"), group("system:authenticated"))]);
    expect(bound.has("web", "any")).toBe(false);
  });
});
