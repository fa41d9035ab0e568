import { describe, expect, it } from "vitest";
import { bases } from "./bases";
import { coursesOf, isCompared, specWith } from "./course";
import { knownValues } from "./known-values";
import { type Field, fieldsOf, specSchema } from "./schema";

const FIELDS = fieldsOf(specSchema());
const of = (seed: number, isFull = false) => coursesOf(FIELDS, { seed, isFull });

describe("courses", () => {
  it("exist for every field of the schema", () => {
    expect(new Set(of(1).map(({ field }) => field))).toEqual(new Set(FIELDS.map(({ path }) => path)));
  });

  it("fail with the name of a field whose values can't be derived from the schema", () => {
    const nickname: Field = { path: "nickname", schema: { type: "string" }, isRequired: false };
    expect(() => coursesOf([nickname], { seed: 1, isFull: false })).toThrow("spec.nickname has no known values");
  });

  it("fail with the name of a field that no base has a place for", () => {
    const inner: Field = { path: "sleep.hours", schema: { type: "boolean" }, isRequired: false };
    expect(() => coursesOf([inner], { seed: 1, isFull: false })).toThrow("spec.sleep.hours has no place");
  });

  it("use all known values", () => {
    const paths = FIELDS.map(({ path }) => path);
    expect(Object.keys(knownValues).filter(path => !paths.includes(path))).toEqual([]);
    expect(bases.flatMap(({ conflicts }) => conflicts).filter(path => !paths.includes(path))).toEqual([]);
  });

  it("choose the values and their order by the seed", () => {
    const values = (seed: number) => JSON.stringify(of(seed).map(({ steps }) => steps.map(({ value }) => value)));
    expect(values(1)).toBe(values(1));
    expect(new Set([1, 2, 3].map(values)).size).toBe(3);
  });

  it("end with a comparable value where the field has one, and try every invalid value", () => {
    for (const { field, steps } of of(3)) {
      const refused = steps.flatMap(step => step.refused);
      expect(refused.length, field).toBeGreaterThan(0);
      const isLast = steps.map(({ value }) => isCompared(value));
      if (isLast.includes(true)) expect(isLast.at(-1), field).toBe(true);
    }
  });

  it("include each value in each base that has a place for the field, in a full run", () => {
    const courses = of(1, true).filter(({ field }) => field === "tokenLifetime.defaultToken");
    expect(courses.map(({ base }) => base.name)).toEqual(["named", "selected"]);
    expect(courses[0]?.steps.map(({ value }) => value.value)).toEqual(
      expect.arrayContaining(["Project", "Leave", undefined]),
    );
  });
});

describe("a value", () => {
  const [base] = bases;

  it("replaces the value of the base, and removes the fields that it excludes", () => {
    const given = { value: { matchLabels: { a: "b" } }, with: { name: undefined } };
    const { targets } = specWith({ field: "targets[].selector", base: base! }, given) as { targets: object[] };
    expect(targets[0]).toEqual({ kind: "DaemonSet", selector: { matchLabels: { a: "b" } } });
    expect(targets[1]).toEqual({ kind: "Deployment", name: "web" });
  });

  it("that is undefined removes the field, without changing the base", () => {
    expect(specWith({ field: "flowIsolation", base: base! }, { value: undefined })).not.toHaveProperty("flowIsolation");
    expect(base?.spec).toHaveProperty("flowIsolation");
  });
});
