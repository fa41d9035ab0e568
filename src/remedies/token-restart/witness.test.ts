import { describe, expect, it } from "vitest";
import { replicated, Scene, UNAUTHORIZED } from "./testing/scene";
import { notWitnessed } from "./witness";

const MINUTE = 60_000;

/** What all API servers say of a time: in all of it they have refused requests, or in none. */
function refusedIn(fromMs: number, toMs: number, isRefused: boolean): Scene["rates"] {
  return { refusals: { fromMs, toMs, refused: isRefused ? [{ fromMs, toMs }] : [] } };
}

/** API servers that are read every 10 s, and refuse requests all the time, or none. */
function counted(isRefused: boolean): { scene: Scene; step: (second: number) => void } {
  const scene = new Scene();
  const startMs = scene.clock.now().getTime();
  const step = (): void => {
    scene.log(UNAUTHORIZED);
    const readings = Math.floor((scene.clock.now().getTime() - startMs) / 10_000);
    scene.rates = refusedIn(startMs, startMs + readings * 10_000, isRefused);
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

describe("401s in a time that no reading covers", () => {
  it.each<[string, number, object]>([
    ["began after the last one", 605_000, { reason: "RestartDeferred" }],
    ["began before it, and none was counted", 500_000, { isStalled: true }],
  ])("%s", (_, firstMs, held) => {
    const logs = { state: "persistent", occasions: 9, firstMs, lastMs: 700_000 };
    const next = { pod: { view: { name: "web-a" }, logs }, claim: { cause: "Unknown" } };
    const observed = { refusals: { fromMs: 0, toMs: 600_000, refused: [] } };
    expect(notWitnessed({ observed, next, share: "" } as never)).toMatchObject(held);
  });
});

describe("401s in a log", () => {
  it("lead to no restart while no API server refuses a request, and a person is told", async () => {
    const { scene, step } = counted(false);
    expect(await scene.passes(24, step)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    const pass = await scene.passes(13, step);
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toContain("no API server of this cluster has answered a request with 401 meanwhile");
  });

  it("lead to a restart as ever when the API servers refuse requests", async () => {
    const { scene, step } = counted(true);
    expect((await scene.passes(14, step)).intents).toHaveLength(1);
  });

  it("that began while no API server refused a request lead to none because others are refused later", async () => {
    const scene = new Scene();
    const startMs = scene.clock.now().getTime();
    const nowMs = (): number => scene.clock.now().getTime();
    let refusedMs = Infinity;
    const step = (): void => {
      if (nowMs() >= startMs + 60_000) scene.log(UNAUTHORIZED);
      const known = { fromMs: Math.max(startMs, nowMs() - 960_000), toMs: nowMs() };
      const refused = nowMs() > refusedMs ? [{ ...known, fromMs: refusedMs }] : [];
      scene.rates = { refusals: { ...known, refused } };
    };
    await scene.passes(100, step);
    refusedMs = nowMs();
    const pass = await scene.passes(150, step);
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toContain("its 401s began before any API server of this cluster sent one");
    expect((await scene.passes(60, step)).intents).toHaveLength(1);
  });

  it("that no API server has sent do not keep a sibling that one has refused from its turn", async () => {
    const scene = replicated(2);
    const startMs = scene.nowMs;
    let refusedMs = Infinity;
    const step = (): void => {
      if (scene.nowMs >= startMs + MINUTE) scene.log(UNAUTHORIZED, "web-5d-1");
      if (scene.nowMs > refusedMs) scene.log(UNAUTHORIZED, "web-5d-0");
      const known = { fromMs: startMs, toMs: scene.nowMs };
      const refused = scene.nowMs > refusedMs ? [{ ...known, fromMs: refusedMs }] : [];
      scene.rates = { refusals: { ...known, refused } };
    };
    await scene.passes(60, step);
    refusedMs = scene.nowMs;
    expect((await scene.passes(14, step)).intents).toMatchObject([{ target: { name: "web-5d-0" } }]);
  });

  it("wait until the counters cover the time of a 401", async () => {
    const { scene } = counted(true);
    await scene.passes(14, () => scene.log(UNAUTHORIZED));
    const nowMs = scene.clock.now().getTime();
    scene.rates = refusedIn(nowMs - 20_000, nowMs, true);
    expect(await scene.pass()).toMatchObject({ reason: "RestartDeferred", intents: [], progressing: true });
    scene.rates = refusedIn(nowMs - 40_000, nowMs, true);
    expect((await scene.pass()).intents).toHaveLength(1);
  });

  it("lead to no false accusation while the counters are older than the last of them", async () => {
    const { scene } = counted(false);
    await scene.passes(12, second => second % 30 === 0 && scene.log(UNAUTHORIZED));
    const startMs = scene.clock.now().getTime() + 1_000;
    scene.rates = refusedIn(startMs, startMs + 30_000, false);
    await scene.passes(9, second => second === 45 && scene.log(UNAUTHORIZED));
    expect(await scene.pass()).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  it("wait while it is not clear yet whether each API server can be read, and lead to a restart as ever where not", async () => {
    const { scene } = counted(false);
    const unclear = (): void => {
      scene.log(UNAUTHORIZED);
      scene.rates = refusedIn(scene.nowMs, scene.nowMs, false);
    };
    expect(await scene.passes(30, unclear)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    scene.rates = {};
    expect((await scene.pass()).intents).toHaveLength(1);
  });

  it("need no witness when the token is proven to be invalid", async () => {
    const { scene, step } = counted(false);
    scene.accounts.set("web", scene.account("sa-2", -5_000));
    expect((await scene.passes(4, step)).intents).toHaveLength(1);
  });

  it("lead to no restart while an API server lacks a key of another one, which is named", async () => {
    const { scene, step } = counted(true);
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
