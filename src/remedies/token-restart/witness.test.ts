import { describe, expect, it } from "vitest";
import { UNAUTHENTICATED } from "../../core/readers";
import { Scene, UNAUTHORIZED } from "./testing/scene";

/** Two API servers, which have refused this many requests every 10 s since the start. */
function counted(refused: number): { scene: Scene; step: (second: number) => void } {
  const scene = new Scene();
  const startMs = scene.clock.now().getTime();
  const spans = (untilMs: number) =>
    Array.from({ length: Math.floor((untilMs - startMs) / 10_000) }, (_, i) => ({
      fromMs: startMs + i * 10_000,
      toMs: startMs + (i + 1) * 10_000,
      requests: refused,
    }));
  const step = (): void => {
    scene.log(UNAUTHORIZED);
    scene.rates = {
      spans: { [UNAUTHENTICATED]: spans(scene.clock.now().getTime()) },
      servers: { found: 2, read: 2 },
    };
  };
  return { scene, step };
}

describe("401s in a log", () => {
  it("lead to no restart while no API server refuses a request, and a person is told", async () => {
    const { scene, step } = counted(0);
    const pass = await scene.passes(24, step);
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toContain("no API server of this cluster has answered a request with 401 meanwhile");
  });

  it("lead to a restart as ever when the API servers refuse requests", async () => {
    const { scene, step } = counted(1);
    expect((await scene.passes(14, step)).intents).toHaveLength(1);
  });

  it("wait until the counters cover the time of a 401", async () => {
    const { scene } = counted(1);
    await scene.passes(14, () => scene.log(UNAUTHORIZED));
    const nowMs = scene.clock.now().getTime();
    const covering = (ms: number) => ({
      spans: { [UNAUTHENTICATED]: [{ fromMs: nowMs - ms, toMs: nowMs, requests: 1 }] },
      servers: { found: 2, read: 2 },
    });
    scene.rates = covering(20_000);
    expect(await scene.pass()).toMatchObject({ reason: "RestartDeferred", intents: [], progressing: true });
    scene.rates = covering(40_000);
    expect((await scene.pass()).intents).toHaveLength(1);
  });

  it.each([
    ["an API server cannot be read", { servers: { found: 2, read: 1 } }],
    ["there is one address", { servers: { found: 1, read: 1 } }],
    ["the counters cannot be read", { servers: { found: 0, read: 0 }, unknown: "Failed." }],
  ])("lead to a restart as ever when %s, five minutes after the last reading", async (_, over) => {
    const { scene, step } = counted(0);
    const unread = (second: number): void => {
      step(second);
      scene.rates = { ...scene.rates, ...over };
    };
    expect((await scene.passes(14, unread)).intents).toHaveLength(1);
    await scene.passes(12, step);
    expect((await scene.passes(56, unread)).intents).toEqual([]);
    expect((await scene.passes(8, unread)).intents).toHaveLength(1);
  });

  it("need no witness when the token is proven to be invalid", async () => {
    const { scene, step } = counted(0);
    scene.accounts.set("web", scene.account("sa-2", -5_000));
    expect((await scene.passes(4, step)).intents).toHaveLength(1);
  });

  it("are not counted while nothing is persistent", async () => {
    const scene = new Scene();
    let asked = 0;
    scene.requestRates = () => Promise.resolve({ spans: {}, servers: { found: 2, read: 2 + 0 * asked++ } });
    await scene.passes(6, () => scene.log(UNAUTHORIZED));
    expect(asked).toBe(0);
    await scene.passes(10, () => scene.log(UNAUTHORIZED));
    expect(asked).toBeGreaterThan(0);
  });
});
