import { expect } from "vitest";
import { onRunaway, Scene } from "./scene";

/** A runaway that was throttled 21 s ago, for five minutes. */
export async function throttled(): Promise<Scene> {
  const scene = new Scene(onRunaway("Throttle"));
  await scene.pass();
  await scene.pass();
  scene.perSecond.set("app", 5_000);
  await scene.run(61);
  expect([scene.entry()?.state, scene.level()]).toEqual(["Throttled", "controller-resilience-tar-pit"]);
  return scene;
}
