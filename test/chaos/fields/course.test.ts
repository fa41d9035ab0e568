import { describe, expect, it } from "vitest";
import { bases } from "./bases";
import { coursesOf, isCompared, specWith } from "./course";
import { knownValues } from "./known-values";
import { type Field, fieldsOf, specSchema } from "./schema";

const FIELDS = fieldsOf(specSchema());
const of = (seed: number, isFull = false) => coursesOf(FIELDS, { seed, isFull });

describe("courses", () => {
  it("there is one for every field of the schema", () => {
    expect(new Set(of(1).map(({ field }) => field))).toEqual(new Set(FIELDS.map(({ path }) => path)));
  });

  it("a field of which the schema says too little makes it fail, with the field's name", () => {
    const nickname: Field = { path: "nickname", schema: { type: "string" }, isRequired: false };
    expect(() => coursesOf([nickname], { seed: 1, isFull: false })).toThrow("what spec.nickname can be");
  });

  it("a field that no base has a place for makes it fail as well", () => {
    const inner: Field = { path: "sleep.hours", schema: { type: "boolean" }, isRequired: false };
    expect(() => coursesOf([inner], { seed: 1, isFull: false })).toThrow("spec.sleep.hours has no place");
  });

  it("nothing is known of a field that is not there any more", () => {
    const paths = FIELDS.map(({ path }) => path);
    expect(Object.keys(knownValues).filter(path => !paths.includes(path))).toEqual([]);
    expect(bases.flatMap(({ conflicts }) => conflicts).filter(path => !paths.includes(path))).toEqual([]);
  });

  it("the seed decides the values and their order", () => {
    const values = (seed: number) => JSON.stringify(of(seed).map(({ steps }) => steps.map(({ value }) => value)));
    expect(values(1)).toBe(values(1));
    expect(new Set([1, 2, 3].map(values)).size).toBe(3);
  });

  it("each ends with a value that can be compared where the field has one, and tries every invalid one", () => {
    for (const { field, steps } of of(3)) {
      const refused = steps.flatMap(step => step.refused);
      expect(refused.length, field).toBeGreaterThan(0);
      const isLast = steps.map(({ value }) => isCompared(value));
      if (isLast.includes(true)) expect(isLast.at(-1), field).toBe(true);
    }
  });

  it("with everything, a field goes through each of its values in each base that has a place for it", () => {
    const via = of(1, true).filter(({ field }) => field === "tokenLifetime.via");
    expect(via.map(({ base }) => base.name)).toEqual(["template", "admission"]);
    expect(via[0]?.steps.map(({ value }) => value.value)).toEqual(
      expect.arrayContaining(["Template", "Admission", undefined]),
    );
  });
});

describe("a value", () => {
  const [base] = bases;

  it("takes the place of the base's own, and of what it can't stand beside", () => {
    const given = { value: { matchLabels: { a: "b" } }, with: { name: undefined } };
    const { targets } = specWith({ field: "targets[].selector", base: base! }, given) as { targets: object[] };
    expect(targets[0]).toEqual({ kind: "DaemonSet", selector: { matchLabels: { a: "b" } } });
    expect(targets[1]).toEqual({ kind: "Deployment", name: "web" });
  });

  it("that is undefined takes the field away, and leaves the base as it is", () => {
    expect(specWith({ field: "flowIsolation", base: base! }, { value: undefined })).not.toHaveProperty("flowIsolation");
    expect(base?.spec).toHaveProperty("flowIsolation");
  });
});
