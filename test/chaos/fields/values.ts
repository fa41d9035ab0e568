import fc from "fast-check";
import type { JsonObject } from "../../../src/core/json";
import { parseDuration } from "../../../src/core/duration";
import type { Field, Schema } from "./schema";

/** What a value is compared with once everything has come to rest. */
export type Oracle =
  /** An object that never had another value. */
  | "fresh"
  /** What had been made before: such a value is to leave all of it as it is. */
  | "before"
  /** Nothing: what was made for what is missing now is kept, and an object that never had it has nothing to keep. */
  | "none";

/** A value that the API server takes. */
export interface Value {
  /** Undefined: the field is absent. */
  readonly value: unknown;
  /** What else of the same object has to be so, for the value to make sense. */
  readonly with?: JsonObject;
  /** Type and reason of the condition that has to describe it. */
  readonly says?: readonly [type: string, reason: string];
  readonly oracle?: Oracle;
}

/** A value that the API server refuses, and what it has to say. */
export interface Refused {
  readonly value: unknown;
  readonly with?: JsonObject;
  readonly words: RegExp;
}

/** What a field is put through. */
export interface Values {
  readonly valid: readonly Value[];
  readonly refused: readonly Refused[];
}

/** Derives what a field can and can't be from its schema alone; undefined where that does not tell. The seed decides what is between the bounds. Pure. */
export function derivedValues({ schema, isRequired }: Field, seed: number): Values | undefined {
  const values = ofSchema(schema, seed);
  if (values === undefined || isRequired) return values;
  return { ...values, valid: [...values.valid, { value: undefined }] };
}

function ofSchema(schema: Schema, seed: number): Values | undefined {
  if (schema.type === "boolean") return ofBoolean();
  if (schema.type === "integer") return ofInteger(schema, seed);
  if (schema.type === "object" && schema.properties !== undefined) return ofBlock(schema);
  if (schema.type === "array" && schema.items?.enum !== undefined) return ofSet(schema.items.enum, seed);
  if (schema.enum !== undefined) return ofEnum(schema.enum);
  return ofDuration(schema, seed);
}

function ofBoolean(): Values {
  return { valid: [{ value: true }, { value: false }], refused: [{ value: "yes", words: /boolean/ }] };
}

function ofInteger({ minimum, maximum }: Schema, seed: number): Values | undefined {
  if (minimum === undefined || maximum === undefined) return undefined;
  return {
    valid: [minimum, maximum, between(minimum, maximum, seed)].map(value => ({ value })),
    refused: [
      { value: minimum - 1, words: new RegExp(`greater than or equal to ${minimum}`) },
      { value: maximum + 1, words: new RegExp(`less than or equal to ${maximum}`) },
      { value: "many", words: /integer|numeric/ },
    ],
  };
}

/** A block whose every field has a default. */
function ofBlock({ required = [] }: Schema): Values | undefined {
  if (required.length > 0) return undefined;
  return {
    valid: [{ value: {} }],
    refused: [
      { value: "on", words: /object|map/ },
      { value: { nonsense: 1 }, words: /nonsense/ },
    ],
  };
}

function ofEnum(words: readonly string[]): Values {
  return {
    valid: words.map(value => ({ value })),
    refused: [{ value: "Nonsense", words: new RegExp(`supported values: "${words.join('", "')}"`) }],
  };
}

function ofSet(words: readonly string[], seed: number): Values {
  const some = fc.shuffledSubarray([...words], { minLength: 2 });
  return {
    valid: [...words.map(word => [word]), fc.sample(some, { seed, numRuns: 1 })[0]].map(value => ({ value })),
    refused: [
      { value: [], words: /at least 1 items/ },
      { value: ["Nonsense"], words: /supported values/ },
      { value: [words[0], words[0]], words: /[Dd]uplicate/ },
    ],
  };
}

/** As every duration of the schema writes its bounds. */
const BOUNDS = /duration\(self\) >= duration\('(\w+)'\) && duration\(self\) <= duration\('(\w+)'\)/;

function ofDuration({ "x-kubernetes-validations": rules = [] }: Schema, seed: number): Values | undefined {
  const rule = rules.find(one => BOUNDS.test(one.rule));
  const [, least, most] = BOUNDS.exec(rule?.rule ?? "") ?? [];
  if (least === undefined || most === undefined) return undefined;
  const [min, max] = [secondsOf(least), secondsOf(most)];
  const refuse = (value: string) => ({ value, words: /expected (nothing or )?a duration between/ });
  return {
    valid: [least, most, textOf(between(min, max, seed))].map(value => ({ value })),
    refused: ["5x", "-5m", "99999999999999999999h", textOf(min - 1), textOf(max + 1)].map(refuse),
  };
}

function between(min: number, max: number, seed: number): number {
  return fc.sample(fc.integer({ min, max }), { seed, numRuns: 1 })[0] ?? min;
}

function secondsOf(text: string): number {
  return parseDuration(text) / 1000;
}

/** Ten years in seconds alone would be too many digits for the schema. */
function textOf(seconds: number): string {
  return `${Math.floor(seconds / 3600)}h${seconds % 3600}s`;
}
