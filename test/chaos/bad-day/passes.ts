import { setTimeout as sleep } from "node:timers/promises";
import { NAME, objectPath, type Scene } from "../scenario";

/** Time between two changes of the object, in milliseconds. */
const EACH_MS = 10_000;

/** Changes an annotation of the object that many times, so that the operator passes over it as often. */
export async function makePasses(scene: Scene, count: number, name = NAME): Promise<void> {
  for (let i = 0; i < count; i++) {
    const annotations = { "chaos.test/look": `${i} ${Date.now()}` };
    await scene.admin.patch(objectPath(scene, name), { metadata: { annotations } });
    await sleep(EACH_MS);
  }
}
