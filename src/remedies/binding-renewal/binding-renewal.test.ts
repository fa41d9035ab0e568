import type { Mode } from "../../core/mode";
import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec } from "../../api/controller-resilience";
import type { BindingView } from "../../core/views";
import { hashOfBlock } from "./block";
import { account, DAY, DEFAULTS, EDIT, HOUR, Scene } from "./testing/scene";

const OWN = "controller-resilience.io/expires-at";
const TTL = "janitor/ttl";
const GONE_AT = "2025-01-31T00:00:00Z";
const DECIDED = Date.parse("2025-01-01T00:00:00Z");

/** A binding with a life of thirty days and so many days left. */
async function withDaysLeft(days: number, spec: Partial<BindingRenewalSpec> = {}, over: Partial<BindingView> = {}) {
  const scene = new Scene(spec);
  scene.bind({ annotations: { [OWN]: GONE_AT }, ...over });
  await scene.pass();
  await scene.clock.run((30 - days) * DAY);
  return scene;
}

describe("a binding that expires", () => {
  it("is only shown in status before the first warning", async () => {
    const scene = await withDaysLeft(8);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "Current", intents: [], events: [] });
    expect(decision.message).toBe(`RoleBinding edit expires at ${GONE_AT} (${OWN}).`);
    expect(decision.recheckAfterMs).toBe(DAY);
    expect(scene.entry()).toEqual({
      kind: "RoleBinding",
      name: "edit",
      namespace: "team",
      uid: "uid-1",
      state: "Current",
      expiryTime: GONE_AT,
      latestExpiryTime: GONE_AT,
      specHash: hashOfBlock(DEFAULTS),
      renewTime: "2025-01-30T00:00:00Z",
      lifeSeconds: 30 * 86_400,
      roleRef: EDIT,
      subjects: [account("web")],
      source: OWN,
    });
  });

  it("causes one Event, a week ahead, on the binding", async () => {
    const scene = await withDaysLeft(7);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "ExpiringSoon", intents: [] });
    expect(decision.subjects).toEqual([{ name: "RoleBinding/edit", reason: "ExpiringSoon" }]);
    expect(decision.events).toMatchObject([
      { type: "Normal", reason: "BindingExpiringSoon", about: { kind: "RoleBinding", name: "edit", uid: "uid-1" } },
    ]);
    expect((await scene.pass()).events).toEqual([]);
  });

  it("is renewed once, a day ahead, by its own life", async () => {
    const scene = await withDaysLeft(1);
    const decision = await scene.act();
    expect(scene.written).toMatchObject([
      {
        verb: "patch",
        target: { kind: "RoleBinding", namespace: "team", name: "edit", uid: "uid-1", resourceVersion: "1" },
        body: { metadata: { annotations: { [OWN]: "2025-03-02T00:00:00Z" } } },
        eventReason: "BindingRenewed",
      },
    ]);
    expect(Object.keys(scene.written[0]?.body ?? {})).toEqual(["metadata"]);
    expect(decision).toMatchObject({ status: "True", reason: "Current" });
    expect(scene.entry()).toMatchObject({
      expiryTime: "2025-03-02T00:00:00Z",
      lastRenewalTime: "2025-01-30T00:00:00Z",
    });
    await scene.live(28 * DAY);
    expect(scene.written).toHaveLength(1);
    await scene.live(3 * DAY);
    expect(scene.written).toHaveLength(2);
    expect(scene.now()?.annotations[OWN]).toBe("2025-04-01T00:00:00Z");
  });

  it("keeps its life after several renewals", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "7d" } });
    await scene.live(30 * DAY);
    expect(scene.now()?.annotations[TTL]).toBe("35d");
    expect(scene.entry()?.lifeSeconds).toBe(7 * 86_400);
    expect(scene.written).toHaveLength(4);
  });

  it("with a life shorter than renewBefore is renewed once per life", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "90s" } });
    await scene.live(15 * 60_000);
    expect(scene.written.length).toBeGreaterThanOrEqual(9);
    expect(scene.written.length).toBeLessThanOrEqual(11);
  });

  it("has its life and planned expiry in status one pass before its renewal", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: "2025-01-01T12:00:00Z" } });
    await scene.clock.run(11 * HOUR);
    const first = await scene.pass();
    expect(first).toMatchObject({ reason: "ExpiringSoon", intents: [], recheckAfterMs: 1_000 });
    expect(scene.entry()).toMatchObject({ lifeSeconds: 43_200, renewingUntil: "2025-01-02T00:00:00Z" });
    await scene.pass();
    expect(scene.now()?.annotations[OWN]).toBe("2025-01-02T00:00:00Z");
    expect(scene.entry()).toMatchObject({ lifeSeconds: 43_200, renewedUntil: "2025-01-02T00:00:00Z" });
    expect(scene.entry()).not.toHaveProperty("renewingUntil");
  });

  it("in two conventions expires at the earlier time, and both are renewed", async () => {
    const scene = await withDaysLeft(1, {}, { annotations: { [OWN]: GONE_AT, [TTL]: "31d" } });
    expect((await scene.act()).message).toBe("RoleBinding edit is renewed until 2025-03-02T00:00:00Z.");
    expect(scene.now()?.annotations).toEqual({ [OWN]: "2025-03-02T00:00:00Z", [TTL]: "60d" });
    expect(scene.entry()).toMatchObject({ source: OWN, expiryTime: "2025-03-02T00:00:00Z" });
  });

  it("is extended by extendBy if the spec sets it", async () => {
    const scene = await withDaysLeft(1, { extendBy: "72h" });
    await scene.act();
    expect(scene.now()?.annotations[OWN]).toBe("2025-02-03T00:00:00Z");
  });

  it("uses a finer form of the key if rounding would lose too much of the extension", async () => {
    const scene = new Scene({ extendBy: "40h" });
    scene.bind({ annotations: { "janitor/expires": "2025-01-31" } });
    await scene.pass();
    await scene.clock.run(30 * DAY - 11 * HOUR);
    await scene.act();
    expect(scene.now()?.annotations["janitor/expires"]).toBe("2025-02-01T16:00");
  });

  it("that has expired but still exists is extended from now", async () => {
    const scene = await withDaysLeft(-3);
    await scene.act();
    expect(scene.now()?.annotations[OWN]).toBe("2025-03-05T00:00:00Z");
  });

  it.each<[Mode, string]>([
    ["Observe", "in Enforce mode the operator would renew it now."],
    ["OperatorObserves", "the operator runs with --mode=Observe, else it would renew it now."],
    [
      "NamespaceSkipped",
      "the Namespace has the annotation controller-resilience.io/skip, else the operator would renew it now.",
    ],
  ])("is not renewed in mode %s", async (mode, words) => {
    const scene = await withDaysLeft(1);
    scene.judged = mode;
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "WouldRenew", intents: [{ verb: "patch" }] });
    expect(pass.message).toContain(words);
    expect(scene.written).toEqual([]);
    expect(scene.entry()).not.toHaveProperty("renewingUntil");
  });

  it("that never expires is Current", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "forever" } });
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current", intents: [] });
    expect(scene.entry()).toEqual({
      kind: "RoleBinding",
      name: "edit",
      namespace: "team",
      uid: "uid-1",
      state: "Never",
    });
  });

  it("with a malformed expiry is not renewed, not even by its other expiry", async () => {
    const scene = await withDaysLeft(1, {}, { annotations: { [OWN]: GONE_AT, [TTL]: "7 days" } });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "MalformedExpiry", intents: [] });
    expect(decision.message).toContain('found janitor/ttl "7 days", expected');
    expect(decision.stalled?.reason).toBe("MalformedExpiry");
  });

  it("with the skip annotation is not renewed", async () => {
    const scene = await withDaysLeft(1, {}, { skip: true });
    expect(await scene.pass()).toMatchObject({ status: "True", intents: [] });
    expect(scene.entry()).toMatchObject({ state: "Skipped" });
  });

  it("is not renewed again after another writer reverted its renewal", async () => {
    const scene = await withDaysLeft(1);
    await scene.act();
    scene.change({ annotations: { [OWN]: GONE_AT } });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "RenewalContested", intents: [] });
    expect(decision.message).toContain(OWN);
    await scene.live(DAY - 1);
    expect(scene.written).toHaveLength(1);
  });

  it("reports why its renewal failed", async () => {
    const scene = await withDaysLeft(1);
    scene.outcome = { result: "Failed", message: "the API server did not answer" };
    const decision = await scene.act();
    expect(decision).toMatchObject({ status: "True", reason: "Renewing", progressing: true });
    expect(decision.message).toBe(
      `RoleBinding edit expires at ${GONE_AT} (${OWN}); the renewal failed and is retried: the API server did not answer.`,
    );
    expect(scene.entry()).not.toHaveProperty("lastRenewalTime");
    scene.outcome = { result: "Forbidden", message: "it needs a right" };
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "RenewalForbidden" });
  });
});

describe("renewUntil", () => {
  it("limits every renewal, and ends them", async () => {
    const scene = await withDaysLeft(1, { renewUntil: "2025-02-10T00:00:00Z" });
    await scene.act();
    expect(scene.now()?.annotations[OWN]).toBe("2025-02-10T00:00:00Z");
    const soon = await scene.pass();
    expect(soon.events).toEqual([]);
    await scene.clock.run(4 * DAY);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "RenewalEnded", intents: [] });
    expect(decision.events?.map(({ reason }) => reason)).toEqual(["BindingNotRenewed", "RenewalEndsSoon"]);
    expect(scene.written).toHaveLength(1);
  });

  it("in the past is reported even long before the binding expires", async () => {
    const scene = await withDaysLeft(25, { renewUntil: "2025-01-02T00:00:00Z" });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "RenewalEnded", stalled: { reason: "RenewalEnded" } });
    expect(decision.message).toContain("spec.bindingRenewal.renewUntil is 2025-01-02T00:00:00Z");
  });
});

describe("bindings in scope", () => {
  it("have an expiry and bind ServiceAccounts of the targets", async () => {
    const scene = new Scene();
    const annotations = { [TTL]: "7d" };
    scene.bind({ name: "mine", annotations });
    scene.bind({ name: "cluster", kind: "ClusterRoleBinding", annotations });
    scene.bind({ name: "endless" });
    scene.bind({ name: "of-another", subjects: [account("other")], annotations });
    scene.bind({ name: "elsewhere", subjects: [account("web", "elsewhere")], annotations });
    await scene.pass();
    expect(scene.object.status?.bindings?.map(({ name }) => name)).toEqual(["cluster", "mine"]);
    scene.remove("RoleBinding/mine");
    scene.remove("ClusterRoleBinding/cluster");
    scene.object = { ...scene.object, status: {} };
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "NoBindings" });
  });

  it.each<[string, BindingView["subjects"]]>([
    ["also binds User ada, which", [account("web"), { kind: "User", apiGroup: EDIT.apiGroup, name: "ada" }]],
    [
      "also binds Group system:serviceaccounts:team, which",
      [account("web"), { kind: "Group", name: "system:serviceaccounts:team" }],
    ],
    ["also binds ServiceAccount elsewhere/web, which", [account("web"), account("web", "elsewhere")]],
    ["also binds ServiceAccount other, which no target runs as", [account("web"), account("other")]],
  ])("are refused by name if one %s", async (why, subjects) => {
    const scene = await withDaysLeft(8, {}, { subjects });
    const early = await scene.pass();
    expect(early).toMatchObject({ status: "True", reason: "BindingRefused", intents: [] });
    expect(early.message).toContain(`RoleBinding edit is not renewed: it ${why}`);
    await scene.clock.run(2 * DAY);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "BindingRefused", intents: [] });
    await scene.live(10 * DAY);
    expect(scene.written).toEqual([]);
  });

  it("are refused by name if a just-in-time access operator owns them", async () => {
    const owner = { kind: "AccessRequest", name: "night-shift", uid: "a" };
    const scene = await withDaysLeft(1, {}, { owner });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "BindingRefused", intents: [] });
    expect(decision.message).toContain("owned by AccessRequest night-shift");
  });

  it("may have any ServiceAccounts of the namespace if listed, and no target is read", async () => {
    const bindings = [{ kind: "RoleBinding" as const, name: "edit" }];
    const scene = await withDaysLeft(1, { bindings }, { subjects: [account("other")] });
    scene.workloadList = [];
    scene.bind({ name: "not-listed", annotations: { [TTL]: "1h" } });
    expect(await scene.act()).toMatchObject({ status: "True", reason: "Current" });
    expect(scene.written.map(({ target }) => target.name)).toEqual(["edit"]);
  });

  it("are each reported if listed and foreign, without expiry or missing", async () => {
    const listed = (name: string) => ({ kind: "RoleBinding" as const, name });
    const scene = new Scene({ bindings: [listed("foreign"), listed("endless"), listed("missing")] });
    scene.bind({ name: "foreign", subjects: [account("web", "elsewhere")] });
    scene.bind({ name: "endless" });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "BindingRefused" });
    expect(decision.message).toContain("Binding not found: RoleBinding missing.");
    expect(decision.message).toContain("RoleBinding endless has no expiry that the operator can read.");
  });

  it("are unknown while a target is missing, and their entries stay in status", async () => {
    const scene = await withDaysLeft(8);
    scene.workloadList = [];
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "TargetNotFound", intents: [] });
    expect(scene.entry()).toMatchObject({ expiryTime: GONE_AT });
    scene.remove();
    await scene.clock.run(10 * DAY);
    await scene.pass();
    expect(scene.now()).toBeUndefined();
  });
});

describe("the right to renew", () => {
  it("is reviewed from the first warning on, and the message contains the rule to add", async () => {
    const scene = await withDaysLeft(6);
    scene.lacking.add("bind edit");
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "RenewalForbidden", intents: [] });
    expect(decision.message).toContain(
      '{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: ["edit"], verbs: [bind]}',
    );
    expect(decision.events).toMatchObject([{ reason: "BindingRenewalForbidden", about: { name: "edit" } }]);
    expect((await scene.pass()).events).toEqual([]);
    scene.lacking.clear();
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "ExpiringSoon" });
  });

  it("is not reviewed before the first warning", async () => {
    const scene = await withDaysLeft(20);
    scene.lacking.add("bind edit");
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
  });
});

describe("a binding that is gone", () => {
  const content = { labels: { team: "kai" }, annotations: { [OWN]: GONE_AT, note: "by hand" } };

  it("is reported with its role, its expiry and how to create it again, and never recreated", async () => {
    const scene = await withDaysLeft(8, {}, content);
    scene.lacking.add("bind edit");
    await scene.live(8 * DAY);
    scene.remove();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "Expired", intents: [] });
    expect(decision.message).toBe(
      `RoleBinding edit expired at ${GONE_AT} and was deleted; the operator never recreates access. If it is still needed: ` +
        "kubectl create rolebinding edit --namespace team --clusterrole edit --serviceaccount NAMESPACE:NAME.",
    );
    expect(decision.events).toMatchObject([{ type: "Warning", reason: "BindingExpired", note: decision.message }]);
    scene.lacking.clear();
    await scene.live(60 * DAY);
    expect(scene.written).toEqual([]);
    expect(await scene.pass()).toMatchObject({ reason: "Expired", events: [] });
  });

  it("is never recreated if deleted before its expiry", async () => {
    const scene = await withDaysLeft(8, {}, content);
    await scene.pass();
    scene.remove();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "Revoked" });
    expect(decision.events).toMatchObject([{ type: "Warning", reason: "BindingRevoked" }]);
    await scene.live(60 * DAY);
    expect(scene.now()).toBeUndefined();
    expect(await scene.pass()).toMatchObject({ reason: "Revoked", events: [] });
    scene.bind({ annotations: { [TTL]: "30d" } });
    await scene.live(30 * DAY);
    expect(scene.written.map(({ verb }) => verb)).toEqual(["patch"]);
  });

  it("is reported as False if it is listed and was revoked", async () => {
    const scene = await withDaysLeft(8, { bindings: [{ kind: "RoleBinding", name: "edit" }] }, content);
    scene.remove();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Revoked", stalled: { reason: "Revoked" } });
    expect(decision.message).not.toContain("Binding not found");
  });

  it("is revoked while a finalizer still holds it, if its deletion began before its expiry", async () => {
    const scene = await withDaysLeft(8);
    scene.change({ deletedAtMs: DECIDED + 22 * DAY });
    expect(await scene.pass()).toMatchObject({ reason: "Revoked", intents: [] });
    await scene.clock.run(20 * DAY);
    scene.remove();
    expect(await scene.pass()).toMatchObject({ reason: "Revoked", intents: [] });
  });
});

describe("many bindings", () => {
  it("are renewed 100 per pass", async () => {
    const scene = new Scene();
    for (let i = 0; i < 250; i++) scene.bind({ name: `b${i}`, annotations: { [OWN]: GONE_AT } });
    await scene.pass();
    await scene.clock.run(29 * DAY + HOUR);
    await scene.act();
    expect(scene.written).toHaveLength(100);
    await scene.pass();
    await scene.pass();
    expect(new Set(scene.written.map(({ target }) => target.name)).size).toBe(250);
  });

  it("are all tried within minutes although the writes keep failing", async () => {
    const scene = new Scene();
    for (let i = 0; i < 250; i++) scene.bind({ name: `b${i}`, annotations: { [OWN]: GONE_AT } });
    await scene.pass();
    await scene.clock.run(29 * DAY + HOUR);
    scene.outcome = { result: "Failed", message: "no" };
    const tried = new Set<string>();
    for (let minute = 0; minute < 5; minute++) {
      for (const { target } of (await scene.pass()).intents) tried.add(target.name);
      await scene.clock.run(60_000);
    }
    expect(tried.size).toBe(250);
  });
});
