import { describe, expect, it } from "vitest";
import { type RequestRates, UNAUTHENTICATED } from "../../core/readers";
import { Scene, UNAUTHORIZED } from "./testing/scene";
import { notWitnessed, refusalsIn } from "./witness";

/** What two API servers have refused in a time. */
function refusedIn(fromMs: number, toMs: number, requests: number): Scene["rates"] {
  return { spans: { [UNAUTHENTICATED]: [{ fromMs, toMs, requests }] }, servers: { found: 2, read: 2 } };
}

/** Two API servers, which are read every 10 s and have refused this many requests each time. */
function counted(refused: number): { scene: Scene; step: (second: number) => void } {
  const scene = new Scene();
  const startMs = scene.clock.now().getTime();
  const step = (): void => {
    scene.log(UNAUTHORIZED);
    const readings = Math.floor((scene.clock.now().getTime() - startMs) / 10_000);
    scene.rates = refusedIn(startMs, startMs + readings * 10_000, readings * refused);
  };
  return { scene, step };
}

describe("401s on the node of an agent whose log has 401s of the kubelet", () => {
  it("lead to no restart while no API server refuses a request", () => {
    const [logs, sandboxes] = [
      { state: "suspected", occasions: 2, isKubelets: true },
      { state: "persistent", occasions: 9, firstMs: 300_000, lastMs: 500_000 },
    ] as const;
    const next = { pod: { view: { name: "cni-a" }, logs, sandboxes }, claim: { cause: "CniCredentialRejected" } };
    const observed = { refusals: { fromMs: 0, toMs: 600_000, refused: [] } };
    expect(notWitnessed({ observed, next, share: "" } as never)).toMatchObject({ isStalled: true });
  });
});

describe("401s of which others got some, too", () => {
  const refused = [{ fromMs: 550_000, toMs: 560_000 }];
  it.each<[string, number, object | undefined]>([
    ["began long before: no restart", 300_000, { isStalled: true }],
    ["began less than a minute before, when a server had just started", 500_000, undefined],
    ["began before the counters", 0, undefined],
    ["began after the last reading", 595_000, undefined],
  ])("%s", (_, firstMs, held) => {
    const logs = { state: "persistent", occasions: 9, firstMs, lastMs: 700_000 };
    const next = { pod: { view: { name: "web-a" }, logs }, claim: { cause: "Unknown" } };
    const observed = { refusals: { fromMs: 0, toMs: 600_000, refused } };
    const assessed = notWitnessed({ observed, next, share: "" } as never);
    if (held === undefined) expect(assessed).toBeUndefined();
    else expect(assessed).toMatchObject(held);
  });
});

describe("401s in a log", () => {
  it("lead to no restart while no API server refuses a request, and a person is told", async () => {
    const { scene, step } = counted(0);
    expect(await scene.passes(24, step)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    const pass = await scene.passes(13, step);
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toContain("no API server of this cluster has answered a request with 401 meanwhile");
  });

  it("lead to a restart as ever when the API servers refuse requests", async () => {
    const { scene, step } = counted(1);
    expect((await scene.passes(14, step)).intents).toHaveLength(1);
  });

  it("that began while no API server refused a request lead to none because others are refused later", async () => {
    const scene = new Scene();
    const startMs = scene.clock.now().getTime();
    const nowMs = (): number => scene.clock.now().getTime();
    let refusedMs = Infinity;
    const step = (): void => {
      if (nowMs() >= startMs + 60_000) scene.log(UNAUTHORIZED);
      const silentMs = Math.min(nowMs(), refusedMs);
      const refused = { fromMs: silentMs, toMs: nowMs(), requests: nowMs() > silentMs ? 50 : 0 };
      const counts = [{ fromMs: Math.max(startMs, nowMs() - 960_000), toMs: silentMs, requests: 0 }, refused];
      scene.rates = { spans: { [UNAUTHENTICATED]: counts }, servers: { found: 2, read: 2 } };
    };
    await scene.passes(100, step);
    refusedMs = nowMs();
    const pass = await scene.passes(150, step);
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toContain("its 401s began before any API server of this cluster sent one");
    expect((await scene.passes(60, step)).intents).toHaveLength(1);
  });

  it("wait until the counters cover the time of a 401", async () => {
    const { scene } = counted(1);
    await scene.passes(14, () => scene.log(UNAUTHORIZED));
    const nowMs = scene.clock.now().getTime();
    scene.rates = refusedIn(nowMs - 20_000, nowMs, 1);
    expect(await scene.pass()).toMatchObject({ reason: "RestartDeferred", intents: [], progressing: true });
    scene.rates = refusedIn(nowMs - 40_000, nowMs, 1);
    expect((await scene.pass()).intents).toHaveLength(1);
  });

  it("lead to no false accusation while the counters are older than the last of them", async () => {
    const { scene } = counted(0);
    await scene.passes(12, second => second % 30 === 0 && scene.log(UNAUTHORIZED));
    const startMs = scene.clock.now().getTime() + 1_000;
    scene.rates = refusedIn(startMs, startMs + 30_000, 0);
    await scene.passes(9, second => second === 45 && scene.log(UNAUTHORIZED));
    expect(await scene.pass()).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  const UNREAD = { servers: { found: 0, read: 0 }, unknown: "Failed." };

  it("lead to no restart because a first reading of the counters has failed", async () => {
    const { scene, step } = counted(0);
    let tries = 0;
    const pass = await scene.passes(60, second => {
      step(second);
      if (second >= 60 && tries++ < 4) scene.rates = UNREAD;
    });
    expect(pass).toMatchObject({ reason: "Rejected", stalled: { reason: "Rejected" } });
    expect(scene.object.status?.restarts).toEqual([]);
  });

  it("lead to no restart because a reading has failed in an earlier incident, too", async () => {
    const { scene, step } = counted(0);
    const unread = (second: number): void => {
      step(second);
      scene.rates = { ...scene.rates, ...UNREAD };
    };
    expect(await scene.passes(14, unread)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect(await scene.passes(200, () => undefined)).toMatchObject({ reason: "Accepted" });
    expect(await scene.passes(14, unread)).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  it.each([
    ["an API server cannot be read", 6, { servers: { found: 2, read: 1 } }],
    ["there is one address", 0, { servers: { found: 1, read: 1 } }],
    ["the counters cannot be read", 6, UNREAD],
  ])("lead to a restart as ever when %s, and five minutes after the last reading", async (_, tries, over) => {
    const { scene, step } = counted(0);
    const unread = (second: number): void => {
      step(second);
      scene.rates = { ...scene.rates, ...over };
    };
    if (tries > 0) expect(await scene.passes(14, unread)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect((await scene.passes(tries || 14, unread)).intents).toHaveLength(1);
    await scene.passes(12, step);
    expect((await scene.passes(56, unread)).intents).toEqual([]);
    expect((await scene.passes(8, unread)).intents).toHaveLength(1);
  });

  it("need no witness when the token is proven to be invalid", async () => {
    const { scene, step } = counted(0);
    scene.accounts.set("web", scene.account("sa-2", -5_000));
    expect((await scene.passes(4, step)).intents).toHaveLength(1);
  });

  it("lead to no restart while an API server lacks a key of another one, which is named", async () => {
    const { scene, step } = counted(1);
    scene.lacking = "10.0.0.2";
    const pass = await scene.passes(14, step);
    expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [], progressing: true });
    expect(pass.message).toContain("API server 10.0.0.2 lacks a signing key that another one publishes");
    scene.lacking = undefined;
    expect((await scene.pass()).intents).toHaveLength(1);
    scene.lacking = "10.0.0.2";
    scene.accounts.set("web", scene.account("sa-2", -60_000));
    expect((await scene.passes(2, step)).intents).toHaveLength(1);
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

  it("need no counters once the restarts are used up, since a person must act first", async () => {
    let asked = 0;
    const scene = new (class extends Scene {
      override requestRates(): ReturnType<Scene["requestRates"]> {
        asked++;
        return super.requestRates();
      }
    })({ maxRestarts: 1, cooldown: "1m" });
    const nowMs = scene.clock.now().getTime();
    const inVain = (minutes: number) => ({
      ...({ workload: "Deployment/web", cause: "Unknown", outcome: "Ineffective", podUID: `gone-${minutes}` } as const),
      ...{ pod: `web-5d-${minutes}`, time: new Date(nowMs - minutes * 60_000).toISOString() },
      newestPodTime: new Date(nowMs - 7_200_000).toISOString(),
    });
    scene.object = { ...scene.object, status: { ...scene.object.status, restarts: [50, 40, 30, 20, 10].map(inVain) } };
    const pass = await scene.passes(24, () => scene.log(UNAUTHORIZED));
    expect([pass.reason, asked]).toEqual(["RestartsExhausted", 0]);
  });
});

const spans = {
  [UNAUTHENTICATED]: [
    { fromMs: 1_000, toMs: 2_000, requests: 2 },
    { fromMs: 2_000, toMs: 4_000, requests: 3 },
    { fromMs: 4_000, toMs: 5_000, requests: 0 },
  ],
};
const all: RequestRates = { spans, servers: { found: 3, read: 3 } };

describe("the refused requests", () => {
  it("are those of all API servers", () => {
    expect(refusalsIn(all)).toEqual({ fromMs: 1_000, toMs: 5_000, refused: spans[UNAUTHENTICATED].slice(0, 2) });
  });

  it("are those of the last 16 minutes, also while an object counts requests for longer", () => {
    const late = [...spans[UNAUTHENTICATED], { fromMs: 5_000, toMs: 963_500, requests: 0 }];
    const refused = spans[UNAUTHENTICATED].slice(1, 2);
    expect(refusalsIn({ ...all, spans: { [UNAUTHENTICATED]: late } })).toMatchObject({ fromMs: 2_000, refused });
  });

  it("cover no time after the first reading", () => {
    expect(refusalsIn({ ...all, spans: {}, readMs: 5_000 })).toEqual({ fromMs: 5_000, toMs: 5_000, refused: [] });
  });

  it.each<[string, Partial<RequestRates>]>([
    ["one API server was not read", { servers: { found: 3, read: 2 } }],
    ["there is one address, behind which there may be others", { servers: { found: 1, read: 1 } }],
    ["the last reading failed", { unknown: "Failed." }],
    ["there was no reading", { spans: {} }],
  ])("prove nothing if %s", (_, over) => {
    expect(refusalsIn({ ...all, ...over })).toBeUndefined();
  });
});
