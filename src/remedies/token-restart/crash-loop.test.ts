import { describe, expect, it } from "vitest";
import type { TargetStatus } from "../../api/controller-resilience";
import { container } from "../../core/testing/views";
import { Scene, UNAUTHORIZED, type ScenePass } from "./testing/scene";

/** The kubelet's delays before the next lives of a container, in seconds. */
const DELAYS = [10, 20, 40, 80, 160, 300];

/** A life of the container, in seconds from its start. */
interface Life {
  readonly first401: number;
  readonly seconds: number;
  readonly every: number;
}

/** A container that crashes again and again, with a pass every five seconds. */
class CrashLoop {
  readonly scene = new Scene({ evidence: ["Logs"], maxRestarts: 1 });
  restarts = 0;
  #startMs = this.scene.clock.now().getTime();
  #endMs = 0;
  #isRunning = true;
  #seconds = 0;

  constructor(private readonly life: Life) {
    this.scene.object = { ...this.scene.object, spec: { ...this.scene.object.spec, mode: "Observe" } };
  }

  /** Runs for some seconds and returns each pass. */
  async run(seconds: number): Promise<ScenePass[]> {
    const passes: ScenePass[] = [];
    for (let second = 0; second < seconds; second++) {
      this.#live();
      if (this.#seconds++ % 5 === 0) passes.push(await this.scene.pass());
      this.scene.clock.advance(1_000);
    }
    return passes;
  }

  #live(): void {
    const { scene, life } = this;
    const nowMs = scene.clock.now().getTime();
    if (this.#isRunning && nowMs - this.#startMs >= life.seconds * 1_000) {
      [this.#isRunning, this.#endMs] = [false, nowMs];
    }
    if (!this.#isRunning && nowMs - this.#endMs >= this.#delayMs()) {
      this.restarts++;
      [this.#isRunning, this.#startMs] = [true, nowMs];
      scene.logs.restart("web-5d-a", "main");
    }
    if (this.#isRunning) this.#log((nowMs - this.#startMs) / 1_000);
    this.#showContainer();
  }

  #delayMs(): number {
    return 1_000 * (DELAYS[Math.min(this.restarts, DELAYS.length - 1)] ?? 0);
  }

  #showContainer(): void {
    const view = container({
      restartCount: this.restarts,
      running: this.#isRunning,
      ...(this.#isRunning ? { startedAtMs: this.#startMs } : {}),
      ...(this.#endMs > 0 ? { lastFinishedAtMs: this.#endMs } : {}),
    });
    this.scene.podList = this.scene.podList.map(one => ({ ...one, ready: view.running, containers: [view] }));
  }

  #log(age: number): void {
    const { first401, every } = this.life;
    if (age >= first401 && (age - first401) % every === 0) this.scene.log(UNAUTHORIZED);
    else if (age % 10 === 0) this.scene.log("working");
  }
}

const LIVES: Life[] = [
  { first401: 5, seconds: 20, every: 5 },
  { first401: 60, seconds: 61, every: 100 },
];

const statuses = (passes: readonly ScenePass[]): string[] => [...new Set(passes.map(({ status }) => status))];

describe.each(LIVES)("a container that crashes $seconds s after its start, first 401 after $first401 s", life => {
  it("is not accepted between its lives once its 401s were persistent", async () => {
    const loop = new CrashLoop(life);
    const passes = await loop.run(3_600);
    const first = passes.findIndex(({ status }) => status === "False");
    expect(first).toBeGreaterThan(0);
    expect(statuses(passes.slice(first))).toEqual(["False"]);
  });
});

describe.each(LIVES)("a crash loop with its first 401 after $first401 s", life => {
  it("is not accepted by a new leader, whenever it begins to lead", async () => {
    const loop = new CrashLoop(life);
    await loop.run(1_800);
    for (let turn = 0; turn < 12; turn++) {
      await loop.run(149);
      loop.scene.failOver();
      expect(statuses(await loop.run(1))).toEqual(expect.not.arrayContaining(["True"]));
      const passes = await loop.run(60);
      expect(statuses(passes.slice(1))).toEqual(["False"]);
    }
  });
});

describe("the memory of persistent 401s", () => {
  /** Status has a pod whose 401s were persistent some minutes ago. */
  function remembering(minutes: number): Scene {
    const scene = new Scene({ evidence: ["Logs"] });
    const lastUnauthorizedTime = new Date(scene.clock.now().getTime() - minutes * 60_000).toISOString();
    const target: TargetStatus = { kind: "Deployment", name: "web", pods: 1, rejectedPods: 1, lastUnauthorizedTime };
    scene.object = { ...scene.object, status: { targets: [{ ...target, persistentPods: ["uid-a"] }] } };
    return scene;
  }

  it.each([
    [14, "False"],
    [15, "True"],
  ])(
    "is of one window: the next 401 after %d minutes gives status %s, and condemns nothing",
    async (minutes, status) => {
      const scene = remembering(minutes);
      scene.log(UNAUTHORIZED);
      expect(await scene.pass()).toMatchObject({ status, intents: [] });
    },
  );

  it("ends when the pod has recovered", async () => {
    const scene = remembering(10);
    expect((await scene.passes(6)).reason).toBe("Accepted");
    scene.log(UNAUTHORIZED);
    expect(await scene.passes(7)).toMatchObject({ reason: "Suspected", intents: [] });
  });
});
