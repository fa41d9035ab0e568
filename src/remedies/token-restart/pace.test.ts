import { describe, expect, it } from "vitest";
import type { PodView } from "../../core/views";
import { Scene, UNAUTHORIZED, workload } from "./testing/scene";

const NAMES = ["web-a", "web-b", "web-c"];

/** Seconds until a successor is Ready. */
const READY_AFTER = 11;

/** A successor `age` seconds after it became Ready. */
function grow(scene: Scene, name: string, age: number, log: (age: number) => string | undefined): void {
  const text = age < 0 ? undefined : log(age);
  if (text !== undefined) scene.log(text, name);
  if (age === 0) change(scene, name, { ready: true, readySinceMs: scene.clock.now().getTime() });
}

function change(scene: Scene, name: string, changes: Partial<PodView>): void {
  scene.podList = scene.podList.map(one => (one.name === name ? { ...one, ...changes } : one));
}

/** Three replicas that are older than their ServiceAccount. Returns the seconds of the evictions, with a pass per second. */
async function evictionsIn(seconds: number, log: (age: number) => string | undefined): Promise<number[]> {
  const scene = new Scene({ evidence: ["Logs", "ServiceAccountAge"] });
  scene.workloadList = [workload({ replicas: 3 })];
  scene.podList = NAMES.map(name => scene.podAt(-3_600_000, { name, uid: `uid-${name}` }));
  for (const name of NAMES) scene.logs.write(name, "main");
  scene.accounts.set("web", scene.account("sa-2", -1_000));
  const born = new Map<string, number>();
  const evictions: number[] = [];
  for (let second = 0; second < seconds; second++) {
    for (const { name } of scene.podList) if (!born.has(name) && second % 2 === 0) scene.log(UNAUTHORIZED, name);
    for (const [name, at] of born) grow(scene, name, second - at - READY_AFTER, log);
    const { intents } = await scene.pass();
    for (const intent of intents) {
      const successor = `new-${intent.target.name}`;
      scene.noteRestart(intent);
      scene.replacePod(intent.target.name, successor);
      change(scene, successor, { ready: false });
      born.set(successor, second);
      evictions.push(second);
    }
    scene.clock.advance(1_000);
  }
  return evictions;
}

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, i) => time - (times[i] ?? 0));

describe("replicas that are older than their ServiceAccount", () => {
  it("follow each other once the successor logs without a 401", async () => {
    const times = await evictionsIn(180, () => "synced");
    expect(times).toHaveLength(3);
    for (const gap of gaps(times)) {
      expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 10);
      expect(gap).toBeLessThanOrEqual(READY_AFTER + 17);
    }
  });

  it.each<[string, (age: number) => string | undefined]>([
    ["logs nothing", () => undefined],
    ["logs its start only", age => (age < 3 ? "starting" : undefined)],
  ])("wait for half a minute if the successor %s", async (_, log) => {
    const times = await evictionsIn(240, log);
    for (const gap of gaps(times)) expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 30);
    expect(times).toHaveLength(3);
  });

  it("follow the first line that shows that the successor works", async () => {
    const times = await evictionsIn(180, age => (age % 20 === 19 ? "still here" : undefined));
    expect(times).toHaveLength(3);
    for (const gap of gaps(times)) {
      expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 19);
      expect(gap).toBeLessThanOrEqual(READY_AFTER + 26);
    }
  });

  it("wait if the successor gets a 401", async () => {
    const times = await evictionsIn(120, age => (age === 7 ? UNAUTHORIZED : "synced"));
    for (const gap of gaps(times)) expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 30);
  });
});
