import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec, ControllerResilience } from "../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION } from "../../api/names";
import type { BindingView } from "../../core/views";
import { DAY, HOUR, Scene, web } from "./testing/scene";

// What must never happen: a person's earlier expiry is undone, or access that has ended comes back.

const OWN = "controller-resilience.io/expires-at";
const TTL = "janitor/ttl";
const KYVERNO = "cleanup.kyverno.io/ttl";
const EXPIRY = "2025-01-31T00:00:00Z";
const SOON = "2025-01-06T00:10:00Z";

/** A binding with a life of thirty days, on its fifth day. */
async function onDayFive(spec: Partial<BindingRenewalSpec> = {}, over: Partial<BindingView> = {}): Promise<Scene> {
  const scene = new Scene(spec);
  scene.bind({ annotations: { [OWN]: EXPIRY }, ...over });
  await scene.live(5 * DAY);
  return scene;
}

function recreateObject(scene: Scene): void {
  scene.object = { ...scene.object, status: {} } as ControllerResilience;
}

describe("a binding whose expiry a person moves to an earlier time", () => {
  it("is never renewed, and reported with both expiries, what it means, and the ways out", async () => {
    const scene = await onDayFive();
    scene.change({ annotations: { [OWN]: SOON } });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Contested", intents: [] });
    expect(decision.stalled?.message).toBe(
      `RoleBinding edit expires at ${SOON} (${OWN}) and is not renewed: its expiry was ${EXPIRY}, and an earlier one counts as a ` +
        `revocation. To renew it again, set that expiry or a later one, or set ${LATEST_EXPIRY_ANNOTATION} to ${SOON}. ` +
        `If Git contains ${OWN}, remove it there.`,
    );
    expect(decision.events).toMatchObject([{ type: "Warning", reason: "BindingContested" }]);
    expect((await scene.pass()).events).toEqual([]);
    expect(scene.entry()).toMatchObject({ state: "Contested", expiryTime: SOON, latestExpiryTime: EXPIRY });
    await scene.live(30 * DAY);
    expect(scene.written).toEqual([]);
    expect(scene.now()?.annotations[OWN]).toBe(SOON);
  });

  it.each<[string, Partial<BindingView>, Partial<BindingView>]>([
    [TTL, { annotations: { [TTL]: "30d" } }, { annotations: { [TTL]: "6d" } }],
    [KYVERNO, { annotations: {}, labels: { [KYVERNO]: "30d" } }, { labels: { [KYVERNO]: "2025-01-07" } }],
    ["a second key", {}, { annotations: { [OWN]: EXPIRY, [TTL]: "6d" } }],
    ["by a minute", {}, { annotations: { [OWN]: "2025-01-30T23:59:00Z" } }],
    ["the first of two keys", {}, { annotations: { [OWN]: SOON, [TTL]: "35d" } }],
  ])("is contested in every convention: %s", async (_, before, after) => {
    const scene = await onDayFive({}, before);
    scene.change(after);
    expect(await scene.pass()).toMatchObject({ reason: "Contested", intents: [] });
    await scene.live(30 * DAY);
    expect(scene.written).toEqual([]);
  });

  it.each<[string, (scene: Scene) => void]>([
    ["has the skip annotation", scene => scene.change({ skip: true })],
    ["has no readable expiry", scene => scene.change({ annotations: { [OWN]: "soon" } })],
    ["has no expiry", scene => scene.change({ annotations: { [TTL]: "forever" } })],
    ["has a missing target", scene => void (scene.workloadList = [])],
    ["has an object that is deleted", recreateObject],
    ["has a target that runs as another", scene => void (scene.workloadList = [{ ...web(), serviceAccountName: "b" }])],
  ])("is contested although it happens while the binding %s", async (_, begin) => {
    const scene = await onDayFive();
    begin(scene);
    await scene.pass();
    scene.workloadList = [web()];
    scene.change({ skip: false, annotations: { [OWN]: SOON } });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ state: "Contested" });
    await scene.live(2 * HOUR);
    expect(scene.written).toEqual([]);
  });

  it("is contested after a renewal as well, for a new object, another spec and a second object", async () => {
    const scene = await onDayFive();
    await scene.live(26 * DAY);
    scene.change({ annotations: { [OWN]: "2025-02-03T00:00:00Z" } });
    expect(await scene.pass()).toMatchObject({ reason: "Contested" });
    recreateObject(scene);
    scene.object.spec.bindingRenewal!.warnBefore = "24h";
    await scene.live(60 * DAY);
    expect(scene.written).toHaveLength(1);
  });

  it("is contested if a person had moved it to a later time before", async () => {
    const scene = await onDayFive();
    scene.change({ annotations: { [OWN]: "2025-02-10T00:00:00Z" } });
    await scene.pass();
    scene.change({ annotations: { [OWN]: EXPIRY } });
    expect(await scene.pass()).toMatchObject({ reason: "Contested", intents: [] });
  });

  const expiresAt = (time: string) => (scene: Scene) => scene.change({ annotations: { [OWN]: time } });
  const forget = (scene: Scene): void => {
    scene.change({ annotations: { [OWN]: SOON, [LATEST_EXPIRY_ANNOTATION]: SOON } });
  };
  const recreate = (scene: Scene): void => {
    scene.remove();
    scene.bind({ annotations: { [OWN]: SOON } });
  };

  it.each<[string, (scene: Scene) => void, number]>([
    ["that expiry is set again", expiresAt(EXPIRY), 36],
    ["a later one is set", expiresAt("2025-02-10T00:00:00Z"), 36],
    ["the memory is set to the earlier one", forget, 36],
    // It lives for ten minutes, and is renewed every few.
    ["the binding is recreated", recreate, 1],
  ])("is renewed again when %s", async (_, resume, days) => {
    const scene = await onDayFive();
    scene.change({ annotations: { [OWN]: SOON } });
    await scene.pass();
    resume(scene);
    await scene.live(days * DAY);
    expect(scene.written.length).toBeGreaterThan(0);
  });

  it("is told from a watch that lags behind a renewal", async () => {
    const scene = await onDayFive();
    await scene.clock.run(24 * DAY);
    const stale = scene.now()!;
    await scene.pass();
    const bindings = scene.bindings.bind(scene);
    scene.bindings = kind => Promise.resolve(kind === "RoleBinding" ? [stale] : []);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current", intents: [] });
    scene.bindings = bindings;
    expect(scene.written).toHaveLength(1);
  });
});

it("a binding with an expiry in several keys is never renewed, since one may be the end that a person has set", async () => {
  const scene = new Scene();
  scene.bind({ annotations: { [OWN]: EXPIRY, [TTL]: "35d" } });
  const decision = await scene.pass();
  expect(decision).toMatchObject({ status: "False", reason: "MalformedExpiry", stalled: {} });
  expect(decision.message).toBe(
    `RoleBinding edit expires at ${EXPIRY} (${OWN}) and is not renewed: several keys say when it expires (${OWN}, ${TTL}); keep one of them.`,
  );
  await scene.live(31 * DAY);
  expect(scene.written).toEqual([]);
  scene.change({ annotations: { [TTL]: "35d" } });
  await scene.live(4 * DAY);
  expect(scene.now()?.annotations[TTL]).toBe("70d");
});

describe("a tool that resets the binding", () => {
  it("is reverted once although it removes the memory as well, which is written again", async () => {
    const scene = await onDayFive();
    const declared = scene.now()!;
    await scene.clock.run(24 * DAY);
    await scene.pass();
    scene.bindingsById.set("RoleBinding/edit", { ...declared, annotations: { ...declared.annotations } });
    Reflect.deleteProperty(scene.now()!.annotations, LATEST_EXPIRY_ANNOTATION);
    expect(await scene.pass()).toMatchObject({ reason: "Contested" });
    expect(scene.now()?.annotations[LATEST_EXPIRY_ANNOTATION]).toBe("2025-03-02T00:00:00Z");
    await scene.live(DAY);
    expect(scene.written).toHaveLength(1);
  });
});

describe("an expiry in the past", () => {
  it.each([0, 1_000, 3 * DAY, 334 * DAY])("by %d ms is never extended", async lateMs => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    await scene.pass();
    await scene.clock.run(30 * DAY + lateMs);
    const decision = await scene.pass();
    expect(decision).toMatchObject({
      status: "False",
      reason: "AccessEnded",
      intents: [],
      stalled: { reason: "AccessEnded" },
    });
    expect(decision.message).toContain("and still exists; the operator never extends access that has ended");
    expect(decision.events).toMatchObject([{ type: "Warning", reason: "BindingNotRenewed" }]);
    await scene.live(40 * DAY);
    expect(scene.written).toEqual([]);
  });

  it("that a person corrects is renewed again", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: "2024-01-31T00:00:00Z" } });
    expect(await scene.pass()).toMatchObject({ reason: "AccessEnded", intents: [] });
    scene.change({ annotations: { [OWN]: EXPIRY } });
    await scene.live(30 * DAY);
    expect(scene.written).toHaveLength(1);
  });

  it("does not begin anew with a duration that counts from the restore of a backup", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "30d" } });
    await scene.live(DAY);
    const { annotations } = scene.now()!;
    scene.remove();
    await scene.clock.run(90 * DAY);
    scene.bind({ annotations });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "Contested", stalled: {}, intents: [] });
    expect(decision.stalled?.message).toContain("it was created after its latest expiry, 2025-01-31T00:00:00Z");
    await scene.live(29.5 * DAY);
    expect(scene.written).toEqual([]);
    scene.change({ annotations: { [TTL]: "30d", [LATEST_EXPIRY_ANNOTATION]: "2025-05-02T00:00:00Z" } });
    await scene.pass();
    expect(scene.written).toHaveLength(1);
  });
});

it.each([
  [TTL, "30d"],
  [OWN, EXPIRY],
])("a binding that a person has deleted is not renewed once a backup brings it back: %s", async (key, value) => {
  const scene = new Scene();
  scene.bind({ annotations: { [key]: value } });
  await scene.live(30 * DAY);
  const { annotations } = scene.now()!;
  scene.remove();
  await scene.pass();
  await scene.clock.run(5 * DAY);
  scene.bind({ annotations });
  const decision = await scene.pass();
  expect(decision).toMatchObject({ reason: "AccessEnded", stalled: {}, intents: [] });
  expect(decision.stalled?.message).toContain("it was deleted before, and this is a copy, as from a backup");
  const due = scene.now()!;
  await scene.live(20 * DAY);
  expect(scene.written).toHaveLength(1);
  Reflect.deleteProperty(due.annotations, LATEST_EXPIRY_ANNOTATION);
  await scene.live(60 * DAY);
  expect(scene.written.length).toBeGreaterThan(1);
});
