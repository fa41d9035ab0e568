import { afterAll, expect, it } from "vitest";
import { playFields } from "../chaos/fields";
import { coursesOf } from "../chaos/fields/course";
import { fieldsOf, specSchema } from "../chaos/fields/schema";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- fields`: only the fields that create and delete the most objects.

const CHOSEN = [
  "suspend",
  "targets[].selector",
  "tokenLifetime.expirationSeconds",
  "flowIsolation",
  "flowIsolation.priorityLevel",
];

const ends: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

it("a spec that is changed and changed back leaves no trace, and every object can be deleted", async () => {
  const lab = await Lab.up({ name: ownLabName("fields"), controlPlaneOnly: true });
  ends.push(() => lab.down());
  const courses = coursesOf(fieldsOf(specSchema()), { seed: 1, isFull: false });
  const chosen = courses.filter(({ field }) => CHOSEN.includes(field));
  expect(chosen.map(({ field }) => field)).toEqual(CHOSEN);
  const defer = (end: () => Promise<void>): void => void ends.push(end);
  const findings = await playFields({ lab, isFull: false, print: () => undefined, defer }, chosen);
  expect(findings.flatMap(({ failures }) => failures)).toEqual([]);
  expect(findings.map(({ times }) => times)).not.toContain(0);
}, 480_000);
