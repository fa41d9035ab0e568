import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec } from "../../api/controller-resilience";
import { intentsOf } from "../../core/testing/remedy-sample";
import type { BindingView } from "../../core/views";
import { hashOfBlock } from "./block";
import { account, DAY, DEFAULTS, EDIT, Scene, web } from "./testing/scene";

// What must never happen: access that grows by itself, an undone revocation, a fight over a field, a loop of writes.

const OWN = "controller-resilience.io/expires-at";
const TTL = "janitor/ttl";
const EXPIRY = "2025-01-31T00:00:00Z";

/** A binding with a life of thirty days, observed from its creation on, so many days later. */
async function aged(days: number, spec: Partial<BindingRenewalSpec> = {}, over: Partial<BindingView> = {}) {
  const scene = new Scene(spec);
  scene.bind({ annotations: { [OWN]: EXPIRY }, ...over });
  await scene.pass();
  await scene.clock.run(days * DAY);
  return scene;
}

function edit(scene: Scene, spec: Partial<BindingRenewalSpec>): void {
  const { object } = scene;
  scene.object = {
    ...object,
    metadata: { ...object.metadata, generation: object.metadata.generation + 1 },
    spec: { ...object.spec, bindingRenewal: { ...object.spec.bindingRenewal!, ...spec } },
  };
}

describe("a revoked binding beside others", () => {
  it("does not hide that the others are current", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    scene.bind({ name: "extra", annotations: { [OWN]: EXPIRY } });
    await scene.pass();
    scene.remove("RoleBinding/extra");
    const { status, reason, message } = await scene.pass();
    expect({ status, reason }).toEqual({ status: "True", reason: "Current" });
    expect(message).toMatch(/edit .* extra was deleted before its expiry/);
  });
});

describe("a life", () => {
  it.each<[string, (scene: Scene) => void, (scene: Scene) => void]>([
    ["skipped", scene => scene.change({ skip: true }), scene => scene.change({ skip: false })],
    [
      "malformed",
      scene => scene.change({ annotations: { [TTL]: "14 days" } }),
      scene => scene.change({ annotations: { [TTL]: "14d" } }),
    ],
    [
      "without expiry",
      scene => scene.change({ annotations: { [TTL]: "forever" } }),
      scene => scene.change({ annotations: { [TTL]: "14d" } }),
    ],
    ["of a missing target", scene => void (scene.workloadList = []), scene => void (scene.workloadList = [web()])],
  ])("stays in status while a binding is %s", async (_, begin, end) => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "7d" } });
    await scene.live(7 * DAY);
    expect(scene.now()?.annotations[TTL]).toBe("14d");
    begin(scene);
    await scene.pass();
    end(scene);
    await scene.live(7 * DAY);
    expect(scene.now()?.annotations[TTL]).toBe("21d");
  });

  it("follows a corrected expiry until the first renewal", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: "2024-01-31T00:00:00Z" } });
    expect(await scene.pass()).toMatchObject({ reason: "RenewalEnded", intents: [] });
    expect(scene.entry()).toMatchObject({ lifeSeconds: 0 });
    scene.change({ annotations: { [OWN]: EXPIRY } });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ state: "Current", lifeSeconds: 30 * 86_400 });
  });

  it("is not taken from a predecessor of the same name", async () => {
    const scene = await aged(29);
    await scene.pass();
    scene.remove();
    await scene.pass();
    scene.bind({ annotations: { [TTL]: "1d" } });
    await scene.live(DAY);
    expect(scene.entry()).toMatchObject({ lifeSeconds: 86_400 });
    expect(scene.now()?.annotations[TTL]).toBe("2d");
  });

  it("may end before the year 0, which status shows as the year 0", async () => {
    const scene = new Scene({ extendBy: "720h" });
    scene.bind({ annotations: { [OWN]: "0000-01-01T00:00:00+24:00" } });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ expiryTime: "0000-01-01T00:00:00Z", renewTime: "0000-01-01T00:00:00Z" });
  });
});

describe("an expiry that was cut by renewUntil", () => {
  it("is renewed again after a review, and does not count as reverted", async () => {
    const scene = await aged(29, { renewUntil: "2025-02-05T00:00:00Z" });
    await scene.act();
    expect(scene.now()?.annotations[OWN]).toBe("2025-02-05T00:00:00Z");
    edit(scene, { renewUntil: "2026-01-01T00:00:00Z" });
    await scene.clock.run(5 * DAY);
    expect(await scene.act()).toMatchObject({ status: "True", reason: "Current" });
    expect(scene.now()?.annotations[OWN]).toBe("2025-03-07T00:00:00Z");
  });
});

describe("an expiry that Git reverts", () => {
  const putBack = (scene: Scene): void => scene.change({ annotations: { [OWN]: EXPIRY } });

  it("is renewed once, even with a short extension", async () => {
    const scene = await aged(30, { extendBy: "1h" });

    for (let round = 0; round < 50; round++) {
      await scene.act();
      putBack(scene);
      await scene.clock.run(10 * 60_000);
    }
    expect(scene.written).toHaveLength(1);
    expect(scene.entry()).toMatchObject({ state: "Contested" });
  });

  it("causes an Event on the binding, which is not restored after it expired", async () => {
    const scene = await aged(29);
    await scene.act();
    putBack(scene);
    const decision = await scene.pass();
    expect(decision.events).toMatchObject([{ reason: "BindingContested", about: { name: "edit" } }]);
    await scene.clock.run(2 * DAY);
    scene.remove();
    expect(await scene.pass()).toMatchObject({ reason: "Expired", intents: [] });
    expect(scene.written.map(({ verb }) => verb)).toEqual(["patch"]);
  });

  it("is confirmed by a live read if the watch is stale", async () => {
    const scene = await aged(29);
    const stale = scene.now()!;
    await scene.act();
    const bindings = scene.bindings.bind(scene);
    scene.bindings = () => Promise.resolve([stale]);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current", intents: [] });
    scene.bindings = bindings;
  });

  it("is renewed again after a change of the block", async () => {
    const scene = await aged(29);
    await scene.act();
    putBack(scene);
    await scene.pass();
    edit(scene, { warnBefore: "169h" });
    await scene.act();
    expect(scene.written).toHaveLength(2);
  });

  it.each<[string, (scene: Scene) => void]>([
    ["another block", ({ object }) => void (object.spec = { ...object.spec, tokenRestart: {} as never })],
    ["the targets", ({ object }) => void object.spec.targets.push({ kind: "Deployment", name: "web" })],
    ["the generation alone", () => undefined],
    ["a null that means nothing", ({ object }) => void (object.spec.bindingRenewal!.renewUntil = null)],
  ])("stays contested after a change of %s", async (_, change) => {
    const scene = await aged(29);
    await scene.act();
    putBack(scene);
    await scene.pass();
    edit(scene, {});
    change(scene);
    expect(await scene.act()).toMatchObject({ status: "False", reason: "RenewalContested", intents: [] });
    await scene.clock.run(2 * DAY);
    scene.remove();
    expect(await scene.act()).toMatchObject({ reason: "Expired", intents: [] });
    expect(scene.written).toHaveLength(1);
  });

  it("that was contested under an earlier version of the operator stays contested", async () => {
    const scene = await aged(29);
    await scene.act();
    putBack(scene);
    await scene.pass();
    const bindings = scene.object.status?.bindings?.map(entry => ({ ...entry, specHash: undefined }) as never);
    scene.object = { ...scene.object, status: { ...scene.object.status, bindings: bindings ?? [] } };
    edit(scene, {});
    expect(await scene.act()).toMatchObject({ reason: "RenewalContested", intents: [] });
  });
});

describe("an operator that stops between a renewal and its status", () => {
  const TTL = "janitor/ttl";

  async function died(): Promise<Scene> {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "30d" } });
    await scene.pass();
    await scene.clock.run(29 * DAY);
    await scene.pass();
    await scene.passAndDie();
    expect(scene.now()?.annotations[TTL]).toBe("60d");
    return scene;
  }

  it("is followed by one that knows the renewal and the life", async () => {
    const scene = await died();
    expect(await scene.pass()).toMatchObject({ reason: "Current", intents: [] });
    expect(scene.entry()).toMatchObject({
      lifeSeconds: 30 * 86_400,
      renewedUntil: "2025-03-02T00:00:00Z",
      specHash: hashOfBlock(DEFAULTS),
      lastRenewalTime: "2025-01-30T00:00:00Z",
    });
    expect(scene.entry()).not.toHaveProperty("renewingUntil");
    await scene.live(31 * DAY);
    expect(scene.now()?.annotations[TTL]).toBe("90d");
    expect(scene.written).toHaveLength(2);
  });

  it("is followed by one that detects a reverted renewal", async () => {
    const scene = await died();
    await scene.pass();
    scene.change({ annotations: { [TTL]: "30d" } });
    expect(await scene.pass()).toMatchObject({ reason: "RenewalContested", intents: [] });
  });

  it("is followed by one that renews if the renewal was not executed", async () => {
    const scene = await died();
    scene.change({ annotations: { [TTL]: "30d" } });
    expect(await scene.pass()).toMatchObject({ reason: "Current", intents: [{ verb: "patch" }] });
    expect(scene.entry()).toMatchObject({ lifeSeconds: 30 * 86_400, renewedUntil: "2025-03-02T00:00:00Z" });
  });

  it("is followed by one that attributes any other expiry to another writer", async () => {
    const scene = await died();
    scene.change({ annotations: { [TTL]: "100d" } });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ lifeSeconds: 100 * 86_400 });
    expect(scene.entry()).not.toHaveProperty("renewedUntil");
  });

  it("has recorded the same planned expiry in every pass, also for an expired binding", async () => {
    const scene = await aged(31);
    scene.outcome = { result: "Failed", message: "no answer" };
    const noted = new Set<string | undefined>();
    for (let i = 0; i < 60; i++) {
      await scene.pass();
      noted.add(scene.entry()?.renewingUntil);
      await scene.clock.run(1_000);
    }
    expect([...noted]).toEqual(["2025-03-03T00:00:00Z"]);
  });
});

describe("a revocation", () => {
  it("while the target is missing remains one after its return", async () => {
    const scene = await aged(10);
    scene.workloadList = [];
    await scene.pass();
    scene.remove();
    await scene.pass();
    expect(scene.entry()).toMatchObject({ state: "Revoked" });
    await scene.clock.run(21 * DAY);
    scene.workloadList = [web()];
    await scene.live(40 * DAY);
    expect(scene.written).toEqual([]);
  });

  it("remains one while a stale watch shows the binding, even past its expiry", async () => {
    const scene = await aged(10);
    const stale = scene.now()!;
    scene.remove();
    expect(await scene.pass()).toMatchObject({ reason: "Revoked" });
    const bindings = scene.bindings.bind(scene);
    scene.bindings = () => Promise.resolve([stale]);
    expect(await scene.pass()).toMatchObject({ reason: "Revoked", intents: [] });
    await scene.clock.run(40 * DAY);
    scene.bindings = bindings;
    expect(await scene.pass()).toMatchObject({ reason: "Revoked", intents: [] });
  });

  it("depends on the time of the read, not on the time of the plan", async () => {
    const scene = await aged(30);
    await scene.pass();
    const record = { ...scene.entry()!, expiryTime: "2025-03-01T00:00:00Z" };
    scene.object = { ...scene.object, status: { bindings: [record] } };
    scene.remove();
    const now = new Date("2025-03-01T00:00:01Z");
    const planned = await scene.plan(now);
    expect(intentsOf(planned.plan)).toEqual([]);
    expect(planned.report(new Map(), now).reason).toBe("Revoked");
  });

  it("is reported while a finalizer holds the binding, with an Event, and as False if it is listed", async () => {
    const scene = await aged(10, { bindings: [{ kind: "RoleBinding", name: "edit" }] });
    scene.change({ deletedAtMs: scene.clock.now().getTime() });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Revoked" });
    expect(decision.events).toMatchObject([{ reason: "BindingRevoked" }]);
    scene.remove();
    expect((await scene.pass()).events).toEqual([]);
  });

  it("stays in status for the newest 64, after the living bindings", async () => {
    const scene = new Scene();
    for (let i = 0; i < 70; i++) {
      scene.bind({ name: `b${i}`, annotations: { [OWN]: new Date(Date.UTC(2025, 1, 1, i)).toISOString() } });
    }
    scene.bind({ name: "living", annotations: { [OWN]: "2026-01-01T00:00:00Z" } });
    await scene.pass();
    for (let i = 0; i < 70; i++) scene.remove(`RoleBinding/b${i}`);
    await scene.pass();
    const names = scene.object.status?.bindings?.map(({ name }) => name) ?? [];
    expect(names).toHaveLength(65);
    expect(names.slice(0, 2)).toEqual(["living", "b6"]);
  });
});

describe("status and messages", () => {
  it("of a binding whose write keeps failing do not change with time", async () => {
    const scene = await aged(30.5);
    scene.outcome = { result: "Forbidden", message: "a policy says no" };
    await scene.pass();
    const seen = new Set<string>();
    for (let i = 0; i < 10; i++) {
      const { status, reason, message, stalled } = await scene.pass();
      seen.add(JSON.stringify([status, reason, message, stalled, scene.object.status]));
      await scene.clock.run(7_000);
    }
    expect(seen.size).toBe(1);
    expect([...seen][0]).toContain("Required permissions: {apiGroups");
  });

  it("of a refused binding contain its expiry", async () => {
    const scene = await aged(1, {}, { subjects: [account("web"), { kind: "User", name: "ada" }] });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ state: "Refused", expiryTime: EXPIRY });
  });

  it("quote odd names", async () => {
    const name = "a], resources: [clusterroles], resourceNames: [cluster-admin";
    const scene = await aged(24, {}, { roleRef: { ...EDIT, name }, name: "b c" });
    scene.lacking.add(`bind ${name}`);
    const { message } = await scene.pass();
    expect(message).toContain(`resourceNames: [${JSON.stringify(name)}]`);
    expect(message).toContain('RoleBinding "b c" expires');
  });

  it("report a near renewUntil once per date", async () => {
    const scene = await aged(1, { renewUntil: "2025-01-09T00:00:00Z" });
    const reasons = async () => (await scene.pass()).events?.map(({ reason }) => reason);
    expect(await reasons()).toEqual(["RenewalEndsSoon"]);
    expect(await reasons()).toEqual([]);
    edit(scene, { renewUntil: "2025-01-08T12:00:00Z" });
    expect(await reasons()).toEqual(["RenewalEndsSoon"]);
  });

  it("report a renewUntil with fractions of a second once", async () => {
    const scene = await aged(1, { renewUntil: "2025-01-08T00:00:00.7Z" });
    const counts = [await scene.pass(), await scene.pass()].map(({ events }) => events?.length);
    expect(counts).toEqual([1, 0]);
  });

  it.each(["2026-01-01T00:00:00Z", null])("report renewUntil again if it returns after %s", async other => {
    const scene = await aged(1, { renewUntil: "2025-01-09T00:00:00Z" });
    await scene.pass();
    expect(scene.entry()).toHaveProperty("announcedEnd");
    edit(scene, { renewUntil: other });
    await scene.pass();
    expect(scene.entry()).not.toHaveProperty("announcedEnd");
    edit(scene, { renewUntil: "2025-01-09T00:00:00Z" });
    expect((await scene.pass()).events?.map(({ reason }) => reason)).toEqual(["RenewalEndsSoon"]);
  });
});

describe("a RoleBinding and a ClusterRoleBinding with one name", () => {
  it("are two bindings", async () => {
    const scene = new Scene({ bindings: [{ kind: "RoleBinding", name: "edit" }] });
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    scene.bind({ kind: "ClusterRoleBinding", annotations: { [OWN]: EXPIRY } });
    await scene.pass();
    await scene.clock.run(29 * DAY);
    await scene.act();
    expect(scene.written.map(({ target }) => target.kind)).toEqual(["RoleBinding"]);
    edit(scene, { bindings: [] });
    await scene.pass();
    await scene.pass();
    expect(scene.written.map(({ target }) => target.kind)).toEqual(["RoleBinding", "ClusterRoleBinding"]);
    expect(scene.object.status?.bindings).toHaveLength(2);
  });
});
