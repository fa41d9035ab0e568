import { expect } from "vitest";
import { onRunaway, Scene } from "./scene";

/** Runs passes until all objects exist and are in effect. */
export async function provisioned(scene = new Scene(onRunaway("Throttle"))): Promise<Scene> {
  await scene.pass();
  await scene.pass();
  scene.written.length = 0;
  return scene;
}

/** Runs passes until the runaway is throttled: 21 s ago, for five minutes. */
export async function throttled(scene = new Scene(onRunaway("Throttle"))): Promise<Scene> {
  await provisioned(scene);
  scene.perSecond.set("app", 5_000);
  await scene.run(61);
  expect([scene.entry()?.state, scene.level()]).toEqual(["Throttled", "controller-resilience-tar-pit"]);
  return scene;
}
