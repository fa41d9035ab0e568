import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec } from "../../api/controller-resilience";
import { Scene } from "./testing/scene";

// Expired bindings are extended from the present, rounded down to steps: six seconds for a life of a minute.

const OWN = "controller-resilience.io/expires-at";
const MINUTE = 60_000;

/** A binding with a life of a minute, observed immediately; then half a minute after its expiry. */
async function overdue(annotations: Record<string, string> = { [OWN]: "2025-01-01T00:01:00Z" }): Promise<Scene> {
  const scene = new Scene();
  scene.bind({ annotations });
  await scene.pass();
  await scene.clock.run(1.5 * MINUTE);
  return scene;
}

function edit(scene: Scene, spec: Partial<BindingRenewalSpec>): void {
  const { object } = scene;
  const bindingRenewal = { ...object.spec.bindingRenewal!, ...spec };
  scene.object = { ...object, spec: { ...object.spec, bindingRenewal } };
}

/** Verbs and expiries. */
function written(scene: Scene): unknown[] {
  return scene.written.map(({ verb, renewal }) => [verb, renewal?.expiryTime]);
}

describe("a binding with a life of a minute, with passes ten seconds apart", () => {
  it.each<[string, Record<string, string>]>([
    ["seconds", { [OWN]: "2025-01-01T00:01:00Z" }],
    ["minutes", { "janitor/expires": "2025-01-01T00:01" }],
    ["two conventions", { [OWN]: "2025-01-01T00:01:00Z", "janitor/expires": "2025-01-01T00:01" }],
    [
      "fractions of a second",
      {
        "k8s-ttl-controller.twin.sh/ttl": "59500ms",
        "k8s-ttl-controller.twin.sh/refreshed-at": "2025-01-01T00:00:00Z",
      },
    ],
  ])(
    "is renewed in the second pass to the expiry that the first recorded, if it has expired: %s",
    async (_, annotations) => {
      const scene = await overdue(annotations);
      await scene.pass();
      const planned = scene.entry()?.renewingUntil;
      expect(planned).toBeDefined();
      await scene.clock.run(10_000);
      await scene.pass();
      expect(written(scene)).toEqual([["patch", planned]]);
    },
  );
});

describe("a planned expiry in status", () => {
  it("is replaced when less than half of an extension would be left", async () => {
    const scene = await overdue();
    edit(scene, { extendBy: "10m" });
    await scene.pass();
    expect(scene.entry()?.renewingUntil).toBe("2025-01-01T00:11:00Z");
    await scene.clock.run(5.5 * MINUTE);
    await scene.pass();
    expect(written(scene)).toEqual([]);
    expect(scene.entry()?.renewingUntil).toBe("2025-01-01T00:17:00Z");
  });

  it.each<[string, { before?: Partial<BindingRenewalSpec>; after: Partial<BindingRenewalSpec>; times: string[] }]>([
    ["lies after renewUntil", { after: { renewUntil: "2025-01-01T00:02:20Z" }, times: ["00:02:30", "00:02:20"] }],
    [
      "is longer than an extension is now",
      { before: { extendBy: "10m" }, after: { extendBy: "" }, times: ["00:11:00", "00:02:30"] },
    ],
    ["is worth less than half of an extension now", { after: { extendBy: "10m" }, times: ["00:02:30", "00:11:00"] }],
  ])("is replaced if it %s", async (_, { before = {}, after, times: [first, second] }) => {
    const scene = await overdue();
    edit(scene, before);
    await scene.pass();
    expect(scene.entry()?.renewingUntil).toBe(`2025-01-01T${first}Z`);
    edit(scene, after);
    await scene.pass();
    expect(written(scene)).toEqual([]);
    await scene.pass();
    expect(written(scene)).toEqual([["patch", `2025-01-01T${second}Z`]]);
  });
});
