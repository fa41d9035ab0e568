import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { simulate } from "./simulate";
import { generate } from "./world/generate";
import { HAPPENINGS } from "./world/happenings";
import type { Plan } from "./world/plan";

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
      const plan = JSON.parse(readFileSync(join(REGRESSIONS, file), "utf8")) as Plan;
      expect((await simulate(plan)).violations).toEqual([]);
    });
});

it("knows everything that a generated world can ask for", () => {
  const asked = Array.from({ length: 200 }, (_, seed) => generate(seed, "bad-day")).flatMap(plan => plan.happenings);
  const unknown = asked.filter(({ what }) => HAPPENINGS[what] === undefined);
  expect(unknown).toEqual([]);
  expect(new Set(asked.map(({ what }) => what))).toEqual(new Set(Object.keys(HAPPENINGS)));
});
