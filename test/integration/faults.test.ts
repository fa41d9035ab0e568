import { afterAll, beforeAll, expect, it } from "vitest";
import { faults } from "../chaos/faults";
import { WATCH_FAULTS } from "../chaos/faults/watch-faults";
import { WRITE_FAULTS } from "../chaos/faults/write-faults";
import type { Fault } from "../chaos/fault";
import type { Finding } from "../chaos/suite";
import { staleToken } from "../chaos/scenarios/stale-token";
import { tokenTrial } from "../chaos/scenarios/token-lifetime";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- faults`: a few faults that break different things. It has its own lab, in which the operator has no
// other objects.

const SEED = 1;
const ends: (() => Promise<void>)[] = [];
let lab: Lab;
let findings: readonly Finding[];

const watchFaults = WATCH_FAULTS.filter(({ fault }) => isAmong(["cut", 401], fault));

function isAmong(few: readonly (string | number)[], fault: Fault): boolean {
  return few.includes(typeof fault === "object" ? fault.code : fault);
}

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("faults"), controlPlaneOnly: true });
  const writeFaults = WRITE_FAULTS.filter(({ denial }) => denial === "reset");
  findings = await faults({ watchFaults, writeFaults, writeScenarios: [staleToken, tokenTrial], cuts: [] }).run({
    lab,
    seed: SEED,
    isFull: false,
    print: () => undefined,
    defer: end => void ends.push(end),
  });
}, 1_200_000);

afterAll(async () => {
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
  await lab.down();
});

it("misses no change and repeats no action, whichever fault breaks the connection to the API server", () => {
  const failures = findings.flatMap(({ fault, failures: of }) => of.map(failure => `${fault}: ${failure}`));
  expect(failures).toEqual([]);
  expect(findings.length).toBeGreaterThan(watchFaults.length);
});
