import { describe, expect, it } from "vitest";
import type { PodView } from "../../core/views";
import { proveByAge } from "./service-account-age";
import { container, pod } from "./testing/fake-log";

const T = Date.parse("2025-01-01T12:00:00Z");
const account = { namespace: "team", name: "web", uid: "sa-2", createdAtMs: T };
const old = (over: Partial<PodView> = {}): PodView =>
  pod({ createdAtMs: T - 600_000, containers: [container({ startedAtMs: T - 590_000 })], ...over });
const proof = (view: PodView, afterMs = 10_000): unknown => proveByAge(view, account, T + afterMs);

describe("a pod older than its ServiceAccount", () => {
  it("is condemned by its first 401, and alone after 60 s", () => {
    expect(proof(old(), 59_999)).toEqual({ serviceAccountUID: "sa-2", sinceMs: T, alone: false });
    expect(proof(old(), 60_000)).toMatchObject({ alone: true });
  });

  it("is not condemned alone unless it runs and is known to mount a token", () => {
    expect(proof(old({ phase: "Pending" }), 90_000)).toMatchObject({ alone: false });
    const unknown = Object.fromEntries(
      Object.entries(old()).filter(([field]) => field !== "mountsToken"),
    ) as unknown as PodView;
    expect(proof(unknown, 90_000)).toMatchObject({ alone: false });
  });

  it("is proven until 80 % of the token's life have passed since the ServiceAccount was created", () => {
    expect(proof(old({ createdAtMs: T - 86_400_000 }), 0.8 * 3_607_000 - 1)).toBeDefined();
    expect(proof(old({ createdAtMs: T - 86_400_000 }), 0.8 * 3_607_000)).toBeUndefined();
    expect(proof(old({ tokenExpirationSeconds: 600 }), 480_000)).toBeUndefined();
  });

  it("is proven when it was restarted since and nothing tells when it first started", () => {
    const looping = container({ restartCount: 3, startedAtMs: T + 50_000, lastFinishedAtMs: T + 20_000 });
    expect(proof(old({ containers: [looping] }))).toBeDefined();
    expect(proof(old({ containers: [] }))).toBeDefined();
    expect(proof(old({ containers: [looping], volumesReadyMs: T - 580_000 }))).toBeDefined();
  });
});

describe("what proves nothing", () => {
  it.each([
    ["a pod of the same second", { createdAtMs: T }],
    ["a younger pod", { createdAtMs: T + 1_000 }],
    ["a pod without a token", { mountsToken: false }],
    [
      "a pod that waited until the ServiceAccount was there again",
      { containers: [container({ startedAtMs: T + 2_000 })] },
    ],
    ["a pod whose volumes waited", { containers: [container({ restartCount: 1 })], volumesReadyMs: T + 1_000 }],
  ])("%s", (_, over) => expect(proof(old(over), 90_000)).toBeUndefined());

  it("a pod whose first token was due to be refreshed in between", () => {
    const due = old({ createdAtMs: T - 2_800_000, volumesReadyMs: T - 2_790_000, containers: [] });
    expect(proof(due, 60_000)).toBeDefined();
    expect(proof(due, 300_000)).toBeUndefined();
  });
});
