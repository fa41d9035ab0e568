import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec } from "../../api/controller-resilience";
import type { BindingView } from "../../core/views";
import { account, DAY, EDIT, Scene } from "./testing/scene";

// Observe mode without a list needs no rights, so its author may not be allowed to read ClusterRoleBindings.

const OWN = "controller-resilience.io/expires-at";
const EXPIRY = "2025-01-31T00:00:00Z";
const SECRET = /secret/;

const PRIVATE: Partial<BindingView> = {
  kind: "ClusterRoleBinding",
  roleRef: { ...EDIT, name: "secret-role" },
  labels: { "secret-label": "secret" },
  annotations: { [OWN]: EXPIRY, "secret-note": "secret" },
};

/** Everything that the author reads, over a month and two days: status, messages, Events. */
async function shown(over: Partial<BindingView>, spec: Partial<BindingRenewalSpec> = {}, mode = "Observe") {
  const scene = new Scene(spec);
  scene.object.spec.mode = mode as "Observe";
  scene.lacking.add("bind secret-role");
  scene.bind({ ...PRIVATE, ...over });
  const seen: unknown[] = [];
  const reasons = new Set<string>();
  const look = async (): Promise<void> => {
    const { message, events, reason, stalled } = await scene.pass();
    seen.push(message, events, stalled, scene.object.status);
    reasons.add(reason);
  };
  for (let day = 0; day < 31; day++) {
    await look();
    await scene.clock.run(DAY);
  }
  scene.lacking.clear();
  await look();
  scene.remove(`${over.kind ?? "ClusterRoleBinding"}/edit`);
  await look();
  return { text: JSON.stringify(seen), reasons: [...reasons], scene };
}

const FOREIGN: BindingView["subjects"] = [
  account("web"),
  { kind: "User", apiGroup: EDIT.apiGroup, name: "secret-user" },
];

describe("an unlisted ClusterRoleBinding in Observe mode", () => {
  it.each<[string, Partial<BindingView>, string]>([
    ["that would be renewed", {}, "WouldRenew"],
    ["with a foreign subject", { subjects: FOREIGN }, "BindingRefused"],
    ["with an owner", { owner: { kind: "SecretGrant", name: "secret", uid: "s" } }, "BindingRefused"],
    ["with a malformed expiry", { annotations: { [OWN]: "secret" } }, "MalformedExpiry"],
    ["with the skip annotation", { skip: true }, "Current"],
  ])("%s is shown by name and expiry only", async (_, over, reason) => {
    const { text, reasons } = await shown(over);
    expect(text.toLowerCase()).not.toMatch(SECRET);
    expect(text).toContain("ClusterRoleBinding edit");
    expect(reasons).toContain(reason);
  });

  it("that lacks a right is reported without its role", async () => {
    const { text, reasons } = await shown({});
    expect(reasons).toContain("RenewalForbidden");
    expect(text).toContain("the operator's ServiceAccount lacks a right");
  });

  it("is as private where the operator itself observes", async () => {
    const scene = new Scene();
    scene.object.spec.mode = "Observe";
    scene.judged = "OperatorObserves";
    scene.bind(PRIVATE);
    expect(JSON.stringify([(await scene.pass()).message, scene.object.status])).not.toMatch(SECRET);
  });

  it("that was deleted before its expiry is reported", async () => {
    const scene = new Scene();
    scene.object.spec.mode = "Observe";
    scene.bind(PRIVATE);
    await scene.pass();
    scene.remove("ClusterRoleBinding/edit");
    expect(await scene.pass()).toMatchObject({ reason: "Revoked" });
  });
});

describe("bindings that the author may read", () => {
  it.each<[string, Partial<BindingView>, Partial<BindingRenewalSpec>, string]>([
    ["a RoleBinding in Observe mode", { kind: "RoleBinding" }, {}, "Observe"],
    ["a listed ClusterRoleBinding", {}, { bindings: [{ kind: "ClusterRoleBinding", name: "edit" }] }, "Observe"],
    ["a ClusterRoleBinding in Enforce mode", {}, {}, "Enforce"],
  ])("are shown in full: %s", async (_, over, spec, mode) => {
    const { text } = await shown(over, spec, mode);
    expect(text).toContain('"roleRef":{');
    expect(text).toContain("secret-label");
    expect(text).toContain("secret-role");
  });
});
