import { readFileSync } from "node:fs";
import { readState } from "../lab/state";
import { statusOf } from "../lab/status";
import { bringUp } from "./lab";
import { suiteLab } from "./suite-lab";

// Runs before each test file. If an earlier one has left the lab of this worker broken, only that file fails: this says what has ended and why, and
// starts it again.

const LINES = 15;

const { name } = suiteLab();

/** The last lines of the log of each component that does not run. */
async function describeDead(lab: string): Promise<string[]> {
  const state = readState(lab);
  const dead = state === undefined ? [] : (await statusOf(state)).filter(component => component.state !== "running");
  return dead.map(({ component, state: how, log }) => {
    const end = readFileSync(log, "utf8").trimEnd().split("\n").slice(-LINES).join("\n");
    return `the ${component} of the lab "${lab}" is ${how}, after an earlier test file; the end of its log:\n${end}`;
  });
}

const dead = await describeDead(name);
if (dead.length > 0) {
  console.error(dead.join("\n"));
  await bringUp(name);
}
