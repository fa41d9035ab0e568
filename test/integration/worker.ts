import { readFileSync } from "node:fs";
import { inject } from "vitest";
import { workerLabName } from "../cluster/worker-labs";
import { Lab } from "../lab";
import { readState } from "../lab/state";
import { statusOf } from "../lab/status";
import { bringUp } from "./lab";

// Runs before each test file: brings up the lab of this worker, unless an earlier test file has done so. If an earlier one has left it broken,
// only that file fails: this says what has ended and why, and starts it again.

const LINES = 15;

const name = workerLabName(inject("integrationLabs"));

/** The last lines of the log of each component that does not run. */
async function describeDead(lab: string): Promise<string[]> {
  const state = readState(lab);
  const dead = state === undefined ? [] : (await statusOf(state)).filter(component => component.state !== "running");
  return dead.map(({ component, state: how, log }) => {
    const end = readFileSync(log, "utf8").trimEnd().split("\n").slice(-LINES).join("\n");
    return `the ${component} of the lab "${lab}" is ${how}, after an earlier test file; the end of its log:\n${end}`;
  });
}

if (Lab.find(name) === undefined) {
  await bringUp(name);
} else {
  const dead = await describeDead(name);
  if (dead.length > 0) {
    console.error(dead.join("\n"));
    await bringUp(name);
  }
}
