import { describe, expect, it } from "vitest";
import { RENEW_ANNOTATION } from "../../api/names";
import type { BindingView } from "../../core/views";
import { account, DAY, Scene, web } from "./testing/scene";

// Only a person who may bind the role decides that access lives on: the spec names the binding, or the binding has the annotation.

const OWN = "controller-resilience.io/expires-at";
const GONE_AT = "2025-01-31T00:00:00Z";
const EXPIRES = { annotations: { [OWN]: GONE_AT } };
const EDIT = { kind: "RoleBinding" as const, name: "edit" };

describe("a binding of the targets' ServiceAccounts whose renewal is not requested", () => {
  it.each(["RoleBinding", "ClusterRoleBinding"] as const)(
    "is a warning a week ahead, and never renewed: %s",
    async kind => {
      const scene = new Scene();
      scene.bind({ ...EXPIRES, kind }, false);
      expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current", intents: [], events: [] });
      await scene.clock.run(23 * DAY);
      const decision = await scene.pass();
      expect(decision).toMatchObject({ status: "False", reason: "RenewalNotRequested", intents: [] });
      expect(decision.stalled?.message).toBe(
        `${kind} edit expires at ${GONE_AT} (${OWN}), and no renewal is requested. To renew it, name it in ` +
          "spec.bindingRenewal.bindings, or annotate it with controller-resilience.io/renew=true. " +
          "To let it expire, annotate it with controller-resilience.io/skip=true.",
      );
      expect(decision.events).toMatchObject([{ type: "Warning", reason: "BindingExpiringSoon", about: { kind } }]);
      expect((await scene.pass()).events).toEqual([]);
      expect(scene.entry()).toMatchObject({ state: "NotRequested" });
      await scene.clock.run(7 * DAY);
      expect(await scene.pass()).toMatchObject({ status: "True", reason: "AccessEnded", events: [] });
      await scene.live(30 * DAY);
      expect([...scene.written, ...scene.notes]).toEqual([]);
      expect(await scene.pass()).toMatchObject({ status: "False", reason: "AccessEnded", stalled: {} });
    },
  );

  it("is no problem with the skip annotation, nor once it is gone", async () => {
    const scene = new Scene();
    scene.bind({ ...EXPIRES, name: "skipped", skip: true }, false);
    scene.bind({ ...EXPIRES, name: "gone" }, false);
    await scene.clock.run(25 * DAY);
    await scene.pass();
    await scene.clock.run(6 * DAY);
    scene.remove("RoleBinding/gone");
    expect(await scene.pass()).toMatchObject({ status: "True" });
  });

  it.each([" true", "True", "yes", "false", ""])("stays so with the annotation %j", async value => {
    const scene = new Scene();
    scene.bind({ annotations: { ...EXPIRES.annotations, [RENEW_ANNOTATION]: value } }, false);
    await scene.live(31 * DAY);
    expect(scene.written).toEqual([]);
  });

  it("stays so however often a target changes its ServiceAccount", async () => {
    const scene = new Scene();
    scene.bind({ ...EXPIRES, subjects: [account("break-glass")] }, false);
    scene.workloadList = [{ ...web(), serviceAccountName: "break-glass" }];
    await scene.live(40 * DAY);
    expect(scene.written).toEqual([]);
  });
});

describe("a requested renewal", () => {
  it.each<[string, Partial<BindingView>]>([
    ["other ServiceAccounts", { subjects: [account("web"), account("db"), account("web", "elsewhere")] }],
    ["a user", { subjects: [account("web"), { kind: "User", name: "ada" }] }],
    ["its user name only", { subjects: [{ kind: "User", name: "system:serviceaccount:team:web" }] }],
    ["the group of its namespace", { subjects: [{ kind: "Group", name: "system:serviceaccounts:team" }] }],
  ])("by the annotation reaches a binding of the targets, whoever else it binds: %s", async (_, over) => {
    const scene = new Scene();
    scene.bind({ ...EXPIRES, ...over });
    await scene.live(30 * DAY);
    expect(scene.written).toHaveLength(1);
  });

  it.each<[string, Partial<BindingView>]>([
    ["another ServiceAccount", { subjects: [account("db")] }],
    ["the ServiceAccount of another namespace", { subjects: [account("web", "elsewhere")] }],
    ["another group", { subjects: [{ kind: "Group", name: "system:serviceaccounts:elsewhere" }] }],
    ["a user of that name", { subjects: [{ kind: "User", name: "web" }] }],
    ["a ServiceAccount of another API group", { subjects: [{ ...account("web"), apiGroup: "mine" }] }],
    ["nobody", { subjects: [] }],
  ])("by the annotation does not reach a binding of %s", async (_, over) => {
    const scene = new Scene();
    scene.bind({ ...EXPIRES, ...over });
    await scene.live(31 * DAY);
    expect([...scene.written, ...(scene.object.status?.bindings ?? [])]).toEqual([]);
  });

  it.each<[string, Partial<BindingView>]>([
    ["of the targets", {}],
    ["of anybody", { subjects: [{ kind: "User", name: "ada" }] }],
    ["without subjects", { subjects: [] }],
  ])("by name reaches any binding: %s", async (_, over) => {
    const scene = new Scene({ bindings: [EDIT] });
    scene.bind({ ...EXPIRES, ...over }, false);
    scene.bind({ ...EXPIRES, ...over, kind: "ClusterRoleBinding" }, false);
    await scene.live(30 * DAY);
    expect(scene.written.map(({ target }) => target.kind)).toEqual(["RoleBinding"]);
  });

  it("by name may set the extension; one by the annotation always extends by the binding's own life", async () => {
    const scene = new Scene({ bindings: [EDIT], extendBy: "72h" });
    scene.bind(EXPIRES, false);
    scene.bind({ ...EXPIRES, name: "annotated" });
    await scene.clock.run(29 * DAY);
    await scene.pass();
    expect(scene.now()?.annotations[OWN]).toBe("2025-02-03T00:00:00Z");
    expect(scene.now("RoleBinding/annotated")?.annotations[OWN]).toBe("2025-03-02T00:00:00Z");
  });
});

describe("what is named and missing", () => {
  it("is each reported", async () => {
    const scene = new Scene({ bindings: ["endless", "missing"].map(name => ({ ...EDIT, name })) });
    scene.bind({ name: "endless" });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "TargetNotFound" });
    expect(decision.message).toContain("Binding not found: RoleBinding missing.");
    expect(decision.message).toContain("RoleBinding endless has no expiry that the operator can read.");
  });

  it("is a target also where bindings are named, and nothing of its bindings is forgotten meanwhile", async () => {
    const scene = new Scene();
    scene.bind(EXPIRES);
    await scene.pass();
    const entry = scene.entry();
    scene.workloadList = [];
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "TargetNotFound", intents: [] });
    expect(scene.entry()).toEqual(entry);
    scene.object.spec.bindingRenewal!.bindings = [EDIT];
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "TargetNotFound" });
  });

  it("is a target whose annotated binding therefore expires although another one is named", async () => {
    const scene = new Scene({ bindings: [EDIT] });
    scene.bind({ annotations: { [OWN]: "2025-03-31T00:00:00Z" } }, false);
    scene.bind({ ...EXPIRES, name: "other" });
    await scene.live(2 * DAY);
    scene.workloadList = [];
    await scene.live(27.5 * DAY);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "TargetNotFound", intents: [] });
    expect(decision.message).toContain("Deployment/web");
    expect(scene.entry("other")).toMatchObject({ expiryTime: GONE_AT });
  });

  it("is nothing without bindings that expire", async () => {
    const scene = new Scene();
    scene.bind();
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "NothingToDo", lists: { bindings: [] } });
  });
});
