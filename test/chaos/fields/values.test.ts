import { describe, expect, it } from "vitest";
import type { Schema } from "./schema";
import { derivedValues, type Values } from "./values";

const derive = (schema: Schema, isRequired = true): Values | undefined =>
  derivedValues({ path: "it", schema, isRequired }, 1);
const validOf = (schema: Schema): unknown[] => derive(schema)?.valid.map(({ value }) => value) ?? [];
const refusedOf = (schema: Schema): unknown[] => derive(schema)?.refused.map(({ value }) => value) ?? [];

const DURATION: Schema = {
  type: "string",
  "x-kubernetes-validations": [
    { rule: "self.matches('x') && duration(self) >= duration('1m') && duration(self) <= duration('24h')" },
  ],
};

describe("values that are derived from a schema", () => {
  it("include both bounds of an integer and one between, and invalid values beyond them", () => {
    const schema = { type: "integer", minimum: 2, maximum: 100 };
    expect(validOf(schema).slice(0, 2)).toEqual([2, 100]);
    expect(refusedOf(schema)).toEqual([1, 101, "many"]);
  });

  it("include both bounds of a duration, and invalid values a second beyond them", () => {
    expect(validOf(DURATION).slice(0, 2)).toEqual(["1m", "24h"]);
    expect(refusedOf(DURATION)).toEqual(expect.arrayContaining(["0h59s", "24h1s"]));
  });

  it("include each word of an enumeration; the expected error lists all of them", () => {
    const values = derive({ type: "string", enum: ["A", "B"] });
    expect(values?.valid.map(({ value }) => value)).toEqual(["A", "B"]);
    expect(values?.refused[0]?.words.test('supported values: "A", "B"')).toBe(true);
    expect(values?.refused[0]?.words.test('supported values: "A"')).toBe(false);
  });

  it("include each word of a set alone, and several", () => {
    const values = validOf({ type: "array", items: { enum: ["A", "B", "C"] } }) as string[][];
    expect(values.slice(0, 3)).toEqual([["A"], ["B"], ["C"]]);
    expect(values[3]?.length).toBeGreaterThan(1);
  });

  it("include an absent value for an optional field", () => {
    expect(derive({ type: "boolean" }, false)?.valid).toContainEqual({ value: undefined });
    expect(derive({ type: "boolean" })?.valid).not.toContainEqual({ value: undefined });
  });

  it("are unknown for free text and for a number without bounds", () => {
    expect(derive({ type: "string" })).toBeUndefined();
    expect(derive({ type: "integer", minimum: 1 })).toBeUndefined();
    expect(derive({ type: "object", properties: { a: {} }, required: ["a"] })).toBeUndefined();
  });
});
