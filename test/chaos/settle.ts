import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario, Scene, State } from "./scenario";

/** A run is over when nothing was written for this long after its final state; in milliseconds. */
const SETTLED_MS = 3_000;
const LOOK_MS = 500;

/** Waits for a scenario's final state, good or bad, and until nothing more is written; reports the reason if either never happens. */
export async function untilSettled(
  scenario: Pick<Scenario, "describe" | "isOver" | "patienceMs">,
  scene: Scene,
  countWrites: () => number,
): Promise<{ state: State; trouble?: string }> {
  const deadlineMs = performance.now() + scenario.patienceMs;
  let settledFromMs = Infinity;
  let written = -1;
  let state: State = {};
  while (performance.now() < deadlineMs) {
    await sleep(LOOK_MS);
    state = await scenario.describe(scene);
    const writes = countWrites();
    const isStill = scenario.isOver(state) && writes === written;
    written = writes;
    if (!isStill) settledFromMs = performance.now();
    else if (performance.now() - settledFromMs > SETTLED_MS) return { state };
  }
  return { state, trouble: `no end after ${scenario.patienceMs / 1000} s: ${JSON.stringify(state)}` };
}
