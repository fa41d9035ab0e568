import { describe, expect, it } from "vitest";
import type { PodView } from "../../core/views";
import { proveByAge, weighLogs } from "./service-account-age";
import { container, pod } from "./testing/fake-log";

const T = Date.parse("2025-01-01T12:00:00Z");
const account = { namespace: "team", name: "web", uid: "sa-2", createdAtMs: T };
const old = (over: Partial<PodView> = {}): PodView =>
  pod({ createdAtMs: T - 600_000, containers: [container({ startedAtMs: T - 590_000 })], ...over });
const proof = (view: PodView, afterMs = 10_000): unknown => proveByAge(view, account, T + afterMs);

describe("a pod older than its ServiceAccount", () => {
  it("is proven with a 401, and alone after 60 s", () => {
    expect(proof(old(), 59_999)).toEqual({
      cause: "ServiceAccountRecreated",
      serviceAccountUID: "sa-2",
      sinceMs: T,
      alone: false,
    });
    expect(proof(old(), 60_000)).toMatchObject({ alone: true });
  });

  it("is not proven alone unless it runs and is known to mount a token", () => {
    expect(proof(old({ phase: "Pending" }), 90_000)).toMatchObject({ alone: false });
    const unknown = Object.fromEntries(
      Object.entries(old()).filter(([field]) => field !== "mountsToken"),
    ) as unknown as PodView;
    expect(proof(unknown, 90_000)).toMatchObject({ alone: false });
  });

  it("is proven until 80 % of the token's life have passed since the ServiceAccount was created", () => {
    const fresh = (over: Partial<PodView> = {}): PodView => old({ volumesReadyMs: T - 40_000, ...over });
    const lifeMs = 0.8 * 3_607_000 - 40_000;
    expect(proof(fresh(), lifeMs - 1)).toMatchObject({ alone: true });
    expect(proof(fresh(), lifeMs)).toBeUndefined();
    expect(proof(fresh({ tokenExpirationSeconds: 600 }), 440_000)).toBeUndefined();
  });

  it("is proven when it was restarted since and its first start is unknown", () => {
    const looping = container({ restartCount: 3, startedAtMs: T + 50_000, lastFinishedAtMs: T + 20_000 });
    expect(proof(old({ containers: [looping] }), 90_000)).toMatchObject({ alone: false });
    expect(proof(old({ containers: [] }), 90_000)).toMatchObject({ alone: false });
    expect(proof(old({ containers: [looping], volumesReadyMs: T - 580_000 }))).toBeDefined();
  });
});

describe("no proof is", () => {
  it.each([
    ["a pod of the same second", { createdAtMs: T }],
    ["a younger pod", { createdAtMs: T + 1_000 }],
    ["a pod without a token", { mountsToken: false }],
    [
      "a pod that waited until the ServiceAccount existed again",
      { containers: [container({ startedAtMs: T + 2_000 })] },
    ],
    ["a pod whose volumes waited", { containers: [container({ restartCount: 1 })], volumesReadyMs: T + 1_000 }],
  ])("%s", (_, over) => expect(proof(old(over), 90_000)).toBeUndefined());

  it("a pod whose first token was due to be refreshed in between", () => {
    const due = old({ createdAtMs: T - 2_800_000, volumesReadyMs: T - 2_790_000, containers: [] });
    expect(proof(due, 60_000)).toBeDefined();
    expect(proof(due, 100_000)).toBeUndefined();
  });

  it("a pod on a later token that was due to be refreshed since, or just before", () => {
    const on = (ageMs: number): PodView => old({ createdAtMs: T - ageMs, volumesReadyMs: T - ageMs, containers: [] });
    const everyMs = 0.8 * 3_607_000;
    expect(proof(on(2 * everyMs - 600_000), 599_000)).toBeDefined();
    expect(proof(on(2 * everyMs - 600_000), 600_000)).toBeUndefined();
    expect(proof(on(2 * everyMs + 120_000), 61_000)).toBeUndefined();
  });

  it("a token of seven days that is more than a day old, which the kubelet has refreshed", () => {
    const hours = (n: number): number => n * 3_600_000;
    const week = { tokenExpirationSeconds: 604_800, containers: [] };
    const view = old({ ...week, createdAtMs: T - hours(20), volumesReadyMs: T - hours(20) });
    expect(proof(view, hours(3))).toMatchObject({ alone: true });
    expect(proof(view, hours(4))).toBeUndefined();
  });

  it("a kubelet time within the clock tolerance of the ServiceAccount's creation", () => {
    const near = (ms: number): PodView =>
      old({ volumesReadyMs: T - ms, containers: [container({ startedAtMs: T - ms })] });
    expect(proof(near(0), 90_000)).toBeUndefined();
    // With a 401, any margin is enough. Without one, clocks may differ.
    expect(proof(near(1_000), 90_000)).toMatchObject({ alone: false });
    expect(proof(near(30_000), 90_000)).toMatchObject({ alone: false });
    expect(proof(near(31_000), 90_000)).toMatchObject({ alone: true });
  });

  it("volumes that became ready again later", () => {
    const looping = container({ restartCount: 1, lastFinishedAtMs: T - 60_000, startedAtMs: T + 20_000 });
    expect(proof(old({ volumesReadyMs: T + 10_000, containers: [looping] }), 90_000)).toBeUndefined();
  });
});

describe("without a 401", () => {
  it("a pod on a later token is proven for ten minutes only, since its refreshes drift", () => {
    const view = old({ createdAtMs: T - 3_600_000, volumesReadyMs: T - 3_600_000 });
    expect(proof(view, 599_999)).toMatchObject({ alone: true });
    expect(proof(view, 600_000)).toMatchObject({ alone: false });
  });

  it("a pod is not proven alone when its log continued for five minutes", () => {
    const alone = { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2", sinceMs: T, alone: true } as const;
    expect(weighLogs(alone, [{ fromMs: T - 900_000, untilMs: T + 299_999 }])).toBe(alone);
    expect(weighLogs(alone, [{ fromMs: T - 900_000, untilMs: T + 300_000 }]).alone).toBe(false);
    expect(weighLogs(alone, [{ fromMs: T + 10_000, untilMs: T + 300_000 }]).alone).toBe(true);
  });
});
