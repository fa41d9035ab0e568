import { afterAll, beforeAll, expect, it } from "vitest";
import { badDay } from "../chaos/bad-day";
import type { Finding } from "../chaos/suite";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- bad-day`: the stories that take little time, all at once. It has its own lab, in which the operator has
// no other objects.

const SEED = 1;
const STORIES = ["refused-by-one", "refusing-budget", "shortened-binding", "owned-daemon-set", "forged-events"];
const ends: (() => Promise<void>)[] = [];
let lab: Lab;
let findings: readonly Finding[];

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("bad-day"), controlPlaneOnly: true });
  findings = await badDay({ story: STORIES, isShort: true }).run({
    lab,
    seed: SEED,
    isFull: false,
    print: () => undefined,
    defer: end => void ends.push(end),
  });
}, 600_000);

afterAll(async () => {
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
  await lab.down();
});

it("does no harm on a bad day, heals what can be healed, and says what a person must do", () => {
  const failures = findings.flatMap(({ fault, failures: of }) => of.map(failure => `${fault}: ${failure}`));
  expect(failures).toEqual([]);
  expect(findings).toHaveLength(STORIES.length);
});
