import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec } from "../../api/controller-resilience";
import { DAY, HOUR, Scene } from "./testing/scene";

// Access that lapsed long ago must not return by itself: a restore follows its expiry closely, or never happens.

const OWN = "controller-resilience.io/expires-at";
const EXPIRY = "2025-01-31T00:00:00Z";

/** A binding with a life of thirty days that the operator cannot renew until its expiry, and that is deleted then. */
async function expired(spec: Partial<BindingRenewalSpec> = {}): Promise<Scene> {
  const scene = new Scene(spec);
  scene.lacking.add("bind edit");
  scene.bind({ annotations: { [OWN]: EXPIRY } });
  await scene.live(30 * DAY);
  scene.remove();
  return scene;
}

function setMode({ object }: Scene, mode: "Enforce" | "Observe"): void {
  object.spec.mode = mode;
}

describe("an expired binding", () => {
  it("is restored within a day", async () => {
    const scene = await expired();
    await scene.live(23 * HOUR);
    scene.lacking.clear();
    await scene.act();
    expect(scene.written).toMatchObject([{ verb: "create" }]);
    expect(scene.now()).toBeDefined();
  });

  it("is final after a day, whatever right is granted later", async () => {
    const scene = await expired();
    const waiting = await scene.pass();
    expect(waiting).toMatchObject({ reason: "RenewalForbidden" });
    await scene.clock.run(waiting.recheckAfterMs!);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "Expired", intents: [] });
    expect(decision.message).toBe(
      `RoleBinding edit expired at ${EXPIRY} and was deleted; it is not restored: it expired more than 1d ago. ` +
        "Recreate it if needed.",
    );
    scene.lacking.clear();
    await scene.live(180 * DAY);
    expect(scene.written).toEqual([]);
    expect(scene.entry()).toMatchObject({ state: "Expired" });
  });

  it("is restored no later than its extension after its expiry", async () => {
    const scene = await expired({ extendBy: "1h" });
    await scene.live(61 * 60_000);
    scene.lacking.clear();
    expect(await scene.act()).toMatchObject({ reason: "Expired", intents: [] });
  });

  it.each(["mode", "suspend"])("is not restored when %s ends after months", async how => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    setMode(scene, "Observe");
    await scene.live(how === "mode" ? 31 * DAY : 29 * DAY);
    scene.remove();
    if (how === "mode") await scene.live(60 * DAY);
    else await scene.clock.run(60 * DAY);
    setMode(scene, "Enforce");
    expect(await scene.act()).toMatchObject({ reason: "Expired", intents: [] });
    await scene.live(DAY);
    expect(scene.written).toEqual([]);
  });

  it("in Observe mode would be restored within a day, and is final after it", async () => {
    const scene = await expired();
    scene.lacking.clear();
    setMode(scene, "Observe");
    expect(await scene.pass()).toMatchObject({ reason: "WouldRenew" });
    await scene.live(25 * HOUR);
    expect(scene.entry()).toMatchObject({ state: "Expired" });
  });

  it("is not restored if the operator last saw it days before", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    await scene.live(27 * DAY);
    await scene.clock.run(3 * DAY + HOUR);
    scene.remove();
    const decision = await scene.act();
    expect(decision).toMatchObject({ reason: "Expired", intents: [] });
    expect(decision.message).toContain("status does not show that it existed shortly before its expiry");
  });

  it("is restored if the operator saw it within a day before its renewal was due", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    await scene.live(28 * DAY + HOUR);
    expect(scene.entry()).toMatchObject({ seenTime: "2025-01-29T00:00:00Z" });
    await scene.clock.run(2 * DAY);
    scene.remove();
    await scene.act();
    expect(scene.written).toMatchObject([{ verb: "create" }]);
  });

  it("that status recorded under an earlier version is not restored", async () => {
    const scene = await expired();
    const bindings = scene.object.status!.bindings!.map(entry => {
      const earlier = { ...entry };
      delete earlier.seenTime;
      return earlier;
    });
    scene.object = { ...scene.object, status: { bindings } };
    scene.lacking.clear();
    expect(await scene.act()).toMatchObject({ reason: "Expired", intents: [] });
  });
});

describe("the time at which a binding was seen", () => {
  it("is recorded once per expiry", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    const seen = new Set<string | undefined>();
    for (let hour = 0; hour < 58 * 24 + 2; hour++) {
      await scene.pass();
      seen.add(scene.entry()?.seenTime);
      await scene.clock.run(HOUR);
    }
    expect([...seen]).toEqual([undefined, "2025-01-29T00:00:00Z", "2025-02-28T00:00:00Z"]);
    expect(scene.written).toHaveLength(1);
  });

  it("is recorded by a pass at that time", async () => {
    const scene = new Scene({ warnBefore: "24h" });
    scene.bind({ annotations: { [OWN]: EXPIRY } });
    const { recheckAfterMs } = await scene.pass();
    expect(recheckAfterMs).toBe(28 * DAY);
  });
});
