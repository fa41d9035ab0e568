import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import type { BindingView } from "../../core/views";
import { DAY, HOUR, Scene, web } from "./testing/scene";

// A person who sets an earlier expiry ends the access. The operator must not extend it.

const OWN = "controller-resilience.io/expires-at";
const TTL = "janitor/ttl";
const REFRESHED = "k8s-ttl-controller.twin.sh/refreshed-at";
const EXPIRY = "2025-01-31T00:00:00Z";
const SOON = "2025-01-06T00:10:00Z";

/** A binding with a life of thirty days, on its fifth day. */
async function onDayFive(spec: Partial<BindingRenewalSpec> = {}, over: Partial<BindingView> = {}): Promise<Scene> {
  const scene = new Scene(spec);
  scene.bind({ annotations: { [OWN]: EXPIRY }, ...over });
  await scene.live(5 * DAY);
  return scene;
}

async function shortened(spec: Partial<BindingRenewalSpec> = {}): Promise<Scene> {
  const scene = await onDayFive(spec);
  scene.change({ annotations: { [OWN]: SOON } });
  await scene.pass();
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

describe("a binding whose expiry a person moves to an earlier time", () => {
  it.each([{}, { extendBy: "720h" }, { extendBy: "1h" }])("is never renewed, with %j", async spec => {
    const scene = await onDayFive(spec);
    scene.change({ annotations: { [OWN]: SOON } });
    const decision = await scene.pass();
    expect(decision).toMatchObject({
      status: "False",
      reason: "RenewalContested",
      stalled: { reason: "RenewalContested" },
      intents: [],
    });
    await scene.live(30 * DAY);
    expect(scene.written).toEqual([]);
    expect(scene.now()?.annotations[OWN]).toBe(SOON);
  });

  it("is reported with both expiries, what it means, and the ways out", async () => {
    const scene = await onDayFive();
    scene.change({ annotations: { [OWN]: SOON } });
    const { message, events } = await scene.pass();
    expect(message).toBe(
      `RoleBinding edit: another writer moved the expiry to ${SOON}: an earlier expiry counts as a revocation, so the ` +
        `operator does not renew the binding. The expiry was ${EXPIRY} (${OWN}). To renew it again, set that expiry or a ` +
        "later one, recreate the binding, or change spec.bindingRenewal.",
    );
    expect(events).toMatchObject([{ type: "Warning", reason: "BindingContested", note: message }]);
    expect((await scene.pass()).events).toEqual([]);
    expect(scene.entry()).toMatchObject({ state: "Contested", expiryTime: SOON, latestExpiryTime: EXPIRY });
  });

  it.each<[string, Partial<BindingView>, Partial<BindingView>]>([
    [TTL, { annotations: { [TTL]: "30d" } }, { annotations: { [TTL]: "6d" } }],
    [
      "cleanup.kyverno.io/ttl",
      { annotations: {}, labels: { "cleanup.kyverno.io/ttl": "30d" } },
      { labels: { "cleanup.kyverno.io/ttl": "2025-01-07" } },
    ],
    [
      "k8s-ttl-controller.twin.sh/refreshed-at",
      { annotations: { "k8s-ttl-controller.twin.sh/ttl": "20d", [REFRESHED]: "2025-01-05T00:00:00Z" } },
      { annotations: { "k8s-ttl-controller.twin.sh/ttl": "20d" } },
    ],
    ["a second key", {}, { annotations: { [OWN]: EXPIRY, [TTL]: "6d" } }],
  ])("counts in every convention: %s", async (_, before, after) => {
    const scene = await onDayFive({}, before);
    scene.change(after);
    expect(await scene.pass()).toMatchObject({ reason: "RenewalContested" });
    await scene.live(30 * DAY);
    expect(scene.written).toEqual([]);
  });

  it.each<[string, (scene: Scene) => void]>([
    ["has the skip annotation", scene => scene.change({ skip: true })],
    ["has no readable expiry", scene => scene.change({ annotations: { [OWN]: "soon" } })],
    ["has no expiry", scene => scene.change({ annotations: { [TTL]: "forever" } })],
    ["has a missing target", scene => void (scene.workloadList = [])],
  ])("also counts if it happens while the binding %s", async (_, begin) => {
    const scene = await onDayFive();
    begin(scene);
    await scene.pass();
    scene.workloadList = [web()];
    scene.change({ skip: false, annotations: { [OWN]: SOON } });
    await scene.live(2 * HOUR);
    expect(scene.entry()).toMatchObject({ state: "Contested" });
    expect(scene.written).toEqual([]);
  });

  it("counts after a renewal as well, from the renewed expiry", async () => {
    const scene = await onDayFive();
    await scene.live(26 * DAY);
    expect(scene.now()?.annotations[OWN]).toBe("2025-03-02T00:00:00Z");
    scene.change({ annotations: { [OWN]: "2025-02-03T00:00:00Z" } });
    expect(await scene.pass()).toMatchObject({ reason: "RenewalContested" });
    await scene.live(60 * DAY);
    expect(scene.written).toHaveLength(1);
  });

  it("counts from the expiry in an entry of an earlier version of the operator", async () => {
    const scene = await onDayFive();
    const strip = (entry: BindingStatus): BindingStatus => {
      const earlier = { ...entry };
      delete earlier.latestExpiryTime;
      delete earlier.specHash;
      return earlier;
    };
    scene.object = { ...scene.object, status: { bindings: scene.object.status!.bindings!.map(strip) } };
    scene.change({ annotations: { [OWN]: SOON } });
    expect(await scene.pass()).toMatchObject({ reason: "RenewalContested", intents: [] });
    expect(scene.entry()).toMatchObject({ latestExpiryTime: EXPIRY });
  });
});

describe("a contested binding is renewed again", () => {
  it.each<[string, (scene: Scene) => void]>([
    ["its recorded expiry returns", scene => scene.change({ annotations: { [OWN]: EXPIRY } })],
    ["it gets a later expiry", scene => scene.change({ annotations: { [OWN]: "2025-02-05T00:00:00Z" } })],
    [
      "it is recreated",
      scene => {
        scene.remove();
        scene.bind({ annotations: { [OWN]: "2025-01-20T00:00:00Z" } });
      },
    ],
    ["the block changes", scene => edit(scene, { warnBefore: "169h" })],
  ])("after %s", async (_, end) => {
    const scene = await shortened();
    end(scene);
    await scene.live(30 * DAY);
    expect(scene.written.length).toBeGreaterThan(0);
    expect(scene.entry()).toMatchObject({ state: "Current" });
  });

  it("after the block changes, also once the change is taken back, until the expiry is shortened again", async () => {
    const scene = await shortened();
    edit(scene, { warnBefore: "169h" });
    scene.change({ annotations: { [OWN]: "2025-01-20T00:00:00Z" } });
    await scene.pass();
    edit(scene, { warnBefore: "168h" });
    expect(await scene.pass()).toMatchObject({ status: "True" });
    scene.change({ annotations: { [OWN]: "2025-01-19T00:00:00Z" } });
    expect(await scene.pass()).toMatchObject({ reason: "RenewalContested" });
  });
});

describe("no revocation is seen", () => {
  it("in a later expiry", async () => {
    const scene = await onDayFive();
    scene.change({ annotations: { [OWN]: "2025-02-10T00:00:00Z" } });
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
    await scene.live(36 * DAY);
    expect(scene.written).toHaveLength(1);
  });

  it("in the first expiry of a binding that had none", async () => {
    const scene = await onDayFive({}, { annotations: { [TTL]: "forever" } });
    scene.change({ annotations: { [TTL]: "7d" } });
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "ExpiringSoon" });
  });

  it("in a watch that lags behind a later expiry", async () => {
    const scene = await onDayFive();
    const stale = scene.now()!;
    scene.change({ annotations: { [OWN]: "2025-02-10T00:00:00Z" } });
    await scene.pass();
    scene.bindings = () => Promise.resolve([stale]);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
    expect(scene.entry()).toMatchObject({ expiryTime: "2025-02-10T00:00:00Z" });
  });
});
