import { describe, expect, it } from "vitest";
import { ForbiddenError, TransientError } from "../../core/errors";
import { recreatingHookOf } from "../../core/recreating-hooks";
import type { SubjectView } from "../../core/views";
import { binding, Scene, UNAUTHORIZED, type ScenePass } from "./testing/scene";

/** Passes until the age alone is enough. */
const OVER_A_MINUTE = 14;

/** A pod that logs nothing, and whose ServiceAccount was recreated. */
function silent(): Scene {
  const scene = new Scene();
  scene.accounts.set("web", scene.account("sa-2", 0));
  return scene;
}

function bound(kind: "RoleBinding" | "ClusterRoleBinding", subject: SubjectView): Promise<ScenePass> {
  const scene = silent();
  scene.bindingList = [binding({ kind, namespace: kind === "RoleBinding" ? "team" : "", subjects: [subject] })];
  return scene.passes(OVER_A_MINUTE);
}

describe("the age of the ServiceAccount as the only evidence", () => {
  const web = { kind: "ServiceAccount", namespace: "team", name: "web" };

  it.each<[string, "RoleBinding" | "ClusterRoleBinding", SubjectView]>([
    ["a RoleBinding", "RoleBinding", web],
    ["a RoleBinding without the namespace of the subject", "RoleBinding", { kind: "ServiceAccount", name: "web" }],
    ["a ClusterRoleBinding", "ClusterRoleBinding", web],
    ["a binding of the user name", "RoleBinding", { kind: "User", name: "system:serviceaccount:team:web" }],
  ])("restarts a pod whose ServiceAccount has %s", async (_, kind, subject) => {
    expect((await bound(kind, subject)).intents).toHaveLength(1);
  });

  it.each<[string, SubjectView]>([
    ["another ServiceAccount", { ...web, name: "web-2" }],
    ["one of another namespace", { ...web, namespace: "other" }],
    ["every ServiceAccount, as the defaults of Kubernetes do", { kind: "Group", name: "system:serviceaccounts" }],
    ["every ServiceAccount of the namespace", { kind: "Group", name: "system:serviceaccounts:team" }],
  ])("restarts no pod if bindings name only %s", async (_, subject) => {
    const pass = await bound("ClusterRoleBinding", subject);
    expect(pass).toMatchObject({ intents: [], status: "True", reason: "Suspected" });
    expect(pass.message).toBe(
      "Pod web-5d-a is older than its ServiceAccount web, so its token is invalid; no binding shows that it uses the API, so only a 401 response in its log leads to a restart.",
    );
  });

  it("names the hook that recreates it", async () => {
    const scene = silent();
    const hook = recreatingHookOf({ "helm.sh/hook": "pre-upgrade" });
    scene.accounts.set("web", { ...scene.account("sa-2", 0), ...(hook && { hook }) });
    const pass = await scene.passes(OVER_A_MINUTE);
    expect(pass.message).toContain(
      "Pod web-5d-a is older than its ServiceAccount web (a Helm hook recreates it: helm.sh/hook: pre-upgrade), so its token is invalid",
    );
    expect(pass.intents).toMatchObject([{ why: expect.stringContaining("helm.sh/hook: pre-upgrade") as string }]);
  });

  it("is enough once a 401 response confirms it", async () => {
    const scene = silent();
    scene.bindingList = [];
    expect((await scene.passes(OVER_A_MINUTE)).intents).toEqual([]);
    scene.log(UNAUTHORIZED);
    expect((await scene.passes(2)).intents).toHaveLength(1);
  });

  it.each([
    ["RoleBinding", new ForbiddenError("may not list rolebindings"), "Forbidden"],
    ["ClusterRoleBinding", new TransientError("not read yet"), "ObserveFailed"],
  ] as const)("restarts no pod while %ss cannot be read, and says so", async (kind, error, reason) => {
    const scene = silent();
    scene.bindingList = [];
    scene.failing = { [kind]: error };
    const pass = await scene.passes(OVER_A_MINUTE);
    expect(pass).toMatchObject({ intents: [], status: "Unknown", reason });
    expect(pass.message).toContain(error.message);
    expect(pass.message).toContain("it is unknown whether it uses the API");
  });

  it("needs no ClusterRoleBindings where a RoleBinding is enough", async () => {
    const scene = silent();
    scene.failing = { ClusterRoleBinding: new ForbiddenError("may not list clusterrolebindings") };
    const pass = await scene.passes(OVER_A_MINUTE);
    expect(pass.intents).toHaveLength(1);
    expect(pass.message).not.toContain("may not");
  });

  it("does not make other errors data", async () => {
    const scene = silent();
    scene.failing = { RoleBinding: new TypeError("a mistake") };
    await expect(scene.passes(OVER_A_MINUTE)).rejects.toThrow("a mistake");
  });
});

describe("persistent 401s", () => {
  it("need no bindings", async () => {
    const scene = new Scene();
    scene.failing = { RoleBinding: new TypeError("not to be read") };
    const pass = await scene.passes(24, () => {
      scene.log(UNAUTHORIZED);
    });
    expect(pass.intents).toHaveLength(1);
  });
});
