import { describe, expect, it } from "vitest";
import type { Mode } from "../../core/remedy";
import { Scene, throttled } from "./testing/scene";

describe("a ServiceAccount of the targets", () => {
  it.each<[Mode, string]>([
    ["Observe", "Mode Observe"],
    ["OperatorObserves", "The operator runs with --mode=Observe"],
    ["NamespaceSkipped", "The Namespace has the annotation controller-resilience.io/skip"],
  ])("is only reported in mode %s, in one sentence", async (mode, why) => {
    const scene = new Scene();
    scene.judged = mode;
    const decision = await scene.pass();
    const writes = decision.intents.map(({ target }) => `create ${target.kind} ${target.name}`);
    expect(decision.message).toBe(
      `${why}: would ${writes.join(", ")} now. Requests are measured only once the ServiceAccount is isolated.`,
    );
    expect(decision).toMatchObject({ status: "False", reason: "WouldIsolate", recheckAfterMs: 30_000 });
    expect(decision.intents).toHaveLength(4);
    expect(scene.written).toEqual([]);
    scene.perSecond.set("app", 5_000);
    expect((await scene.run(61)).message).toContain("Requests are measured only once the ServiceAccount is isolated.");
    expect(scene.entry()).toMatchObject({ state: "Normal" });
    expect(scene.entry()).not.toHaveProperty("requestsPerSecond");
  });

  it("names some of many objects that are not written in mode Observe", async () => {
    const scene = new Scene({}, undefined, undefined, "team/it");
    scene.judged = "Observe";
    const names = ["app", "b", "c", "d", "e"];
    for (const name of names.slice(1)) {
      scene.put("Deployment", name, { serviceAccountName: name });
    }
    scene.object.spec.targets = names.map(name => ({ kind: "Deployment", name }));
    const { message, intents } = await scene.pass();
    expect(intents.length).toBeGreaterThan(6);
    expect(message).toMatch(/: would (create \S+ \S+ ?){4} and \d+ more now\. Requests are measured/);
    expect(message.split("Mode Observe")).toHaveLength(2);
  });

  it.each<[string, (scene: Scene) => void]>([
    ["its workload is no target any more", scene => void (scene.object.spec.targets = [])],
    ["its workload has the skip annotation", scene => scene.put("Deployment", "app", { skip: true })],
  ])("stays throttled, which calls a person, also if %s", async (_, then) => {
    const scene = await throttled();
    scene.judged = "Observe";
    then(scene);
    const { stalled } = await scene.run(600);
    expect(stalled?.message).toContain(`To release it: kubectl patch flowschema ${scene.schema()} `);
    expect(scene.entry()).toMatchObject({ state: "Throttled" });
  });
});
