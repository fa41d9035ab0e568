import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario, Scene, State } from "./scenario";

/** A run is over when nothing was written for this long after its end; in milliseconds. */
const SETTLED_MS = 3_000;
const LOOK_MS = 500;

/** What is going on around a run. */
export interface Activity {
  /** How many there were so far. */
  readonly writes: number;
  /** Nothing is over while that is so. */
  readonly isBusy?: boolean;
}

/** Waits for a scenario's end, good or bad, and until nothing more is written; says what was wrong where neither came. */
export async function untilSettled(
  scenario: Pick<Scenario, "describe" | "isOver" | "patienceMs">,
  scene: Scene,
  activity: () => Activity,
): Promise<{ state: State; trouble?: string }> {
  const deadlineMs = performance.now() + scenario.patienceMs;
  let settledFromMs = Infinity;
  let written = -1;
  let state: State = {};
  while (performance.now() < deadlineMs) {
    await sleep(LOOK_MS);
    state = await scenario.describe(scene);
    const { writes, isBusy = false } = activity();
    const isStill = !isBusy && scenario.isOver(state) && writes === written;
    written = writes;
    if (!isStill) settledFromMs = performance.now();
    else if (performance.now() - settledFromMs > SETTLED_MS) return { state };
  }
  return { state, trouble: `no end after ${scenario.patienceMs / 1000} s: ${JSON.stringify(state)}` };
}
