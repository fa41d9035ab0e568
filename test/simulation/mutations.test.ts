import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MENDS } from "./mends";
import { mutated, MUTATIONS } from "./mutations";

const ALL = [...MUTATIONS, ...MENDS];

it.each(ALL.map(one => [one.name, one] as const))("still finds its text in the source: %s", (_name, mutation) => {
  const source = readFileSync(join(__dirname, "../..", mutation.file), "utf8");
  expect(mutated(mutation, source)).not.toBe(source);
});

it("has mutations with names of their own", () => {
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length);
});
