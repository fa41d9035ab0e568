import fc from "fast-check";
import type { JsonObject } from "../../../src/core/json";
import { type Base, bases } from "./bases";
import { knownValues } from "./known-values";
import { hasPlaceFor, nameOf, withValues } from "./path";
import type { Field } from "./schema";
import { derivedValues, type Refused, type Value, type Values } from "./values";

/** Limit of values per course; other seeds choose other values. */
const MOST_STEPS = 4;

/** One value, and what happens before it is set. */
export interface Step {
  readonly refused: readonly Refused[];
  /** A value that is set first, without waiting for its effect. */
  readonly inPassing?: Value;
  readonly value: Value;
}

/** The sequence of values of one field of one object. At the end the field is set back. */
export interface Course {
  readonly field: string;
  readonly base: Base;
  readonly steps: readonly Step[];
}

/** Selects the courses. */
interface CourseOptions {
  readonly seed: number;
  /** Every value of every field in every base. */
  readonly isFull: boolean;
}

/**
 * Returns a course for each field, in a base that the seed chooses, or in every base. Pure.
 *
 * @throws Error for a field without known values
 */
export function coursesOf(fields: readonly Field[], { seed, isFull }: CourseOptions): Course[] {
  return fields.flatMap((field, i) => {
    const places = placesOf(field);
    const chosen = isFull ? places : places.slice((seed + i) % places.length).slice(0, 1);
    return chosen.map(base => courseOf(field, base, { seed: seed + i, isFull }));
  });
}

/** Returns the spec with that value. Pure. */
export function specWith(
  { field, base }: Pick<Course, "field" | "base">,
  given: Pick<Value, "value" | "with">,
): JsonObject {
  return withValues(base.spec, field, { ...given.with, [nameOf(field)]: given.value });
}

/** Whether its values are compared with a fresh object that never had another value. */
export function isCompared({ oracle = "fresh" }: Value): boolean {
  return oracle === "fresh";
}

function placesOf({ path }: Field): readonly Base[] {
  const places = bases.filter(({ spec, conflicts }) => hasPlaceFor(spec, path) && !conflicts.includes(path));
  if (places.length === 0)
    throw new Error(`spec.${path} has no place in any base: add it to one in test/chaos/fields/bases.ts`);
  return places;
}

function valuesOf(field: Field, seed: number): Values {
  const values = knownValues[field.path] ?? derivedValues(field, seed);
  if (values !== undefined) return values;
  throw new Error(`spec.${field.path} has no known values: add them to test/chaos/fields/known-values.ts`);
}

/** The last value can be compared with a fresh object, if the field has such a value. */
function courseOf(field: Field, base: Base, { seed, isFull }: CourseOptions): Course {
  const { valid, refused } = valuesOf(field, seed);
  const order = fc.shuffledSubarray([...valid], { minLength: valid.length });
  const [shuffled = []] = fc.sample(order, { seed, numRuns: 1 });
  const last = shuffled.find(isCompared) ?? shuffled[0];
  const others = shuffled.filter(value => value !== last);
  const chosen = [...(isFull ? others : others.slice(0, MOST_STEPS - 1)), ...(last === undefined ? [] : [last])];
  return {
    field: field.path,
    base,
    steps: chosen.map((value, i): Step => {
      // A value that must leave the created objects unchanged is compared with the state before it.
      const isPassedTo = (seed + i) % 3 === 0 && value.oracle !== "before";
      const inPassing = isPassedTo ? valid[(seed + i) % valid.length] : undefined;
      return {
        value,
        refused: refused.filter((_, nth) => nth % chosen.length === i),
        ...(inPassing === undefined ? {} : { inPassing }),
      };
    }),
  };
}
