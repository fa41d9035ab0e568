import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { simulate } from "./simulate";
import { generate } from "./world/generate";
import { HAPPENINGS } from "./world/happenings";
import { readPlan } from "./world/read-plan";

/** Worlds that once broke a promise, by the name of their file. */
const REGRESSIONS = join(__dirname, "regressions");

describe("the same seed", () => {
  it("gives the same requests, answers and story", async () => {
    const [one, again, other] = [await run(3), await run(3), await run(5)];
    expect(again.hash).toBe(one.hash);
    expect(again.story).toEqual(one.story);
    expect(other.hash).not.toBe(one.hash);
    expect(one.requests).toBeGreaterThan(500);
  });

  async function run(seed: number) {
    return simulate(generate(seed, "small", 0.5));
  }
});

describe("a regression", () => {
  for (const file of readdirSync(REGRESSIONS).filter(name => name.endsWith(".json")))
    it(`is over: ${file.replace(".json", "").replaceAll("-", " ")}`, async () => {
      expect((await simulate(readPlan(join(REGRESSIONS, file)))).violations).toEqual([]);
    });
});

it("draws everything that can happen", () => {
  const sizes = ["bad-day", "small"] as const;
  const plans = sizes.flatMap(size => Array.from({ length: 400 }, (_, seed) => generate(seed, size)));
  const drawn = plans.flatMap(plan => plan.happenings);
  expect(new Set(drawn.map(({ what }) => what))).toEqual(new Set(Object.keys(HAPPENINGS)));
});
