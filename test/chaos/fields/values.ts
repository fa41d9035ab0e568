import fc from "fast-check";
import type { JsonObject } from "../../../src/core/json";
import { parseDuration } from "../../../src/core/time";
import type { Field, Schema } from "./schema";

/** The reference for the final state after a value. */
type Oracle =
  /** An object that never had another value. */
  | "fresh"
  /** The state before: such a value must leave all created objects unchanged. */
  | "before"
  /** No reference: objects of a target that is missing now are kept, and a fresh object has none to keep. */
  | "none";

/** A value that the API server accepts. */
export interface Value {
  /** Undefined: the field is absent. */
  readonly value: unknown;
  /** Other fields of the same object that the value needs. */
  readonly with?: JsonObject;
  /** Type and reason of the condition that must report the value. */
  readonly says?: readonly [type: string, reason: string];
  readonly oracle?: Oracle;
}

/** A value that the API server rejects, and a pattern of its error. */
export interface Refused {
  readonly value: unknown;
  readonly with?: JsonObject;
  readonly words: RegExp;
}

/** The values of a field. */
export interface Values {
  readonly valid: readonly Value[];
  readonly refused: readonly Refused[];
}

/** Derives values of a field from its schema; undefined if the schema does not suffice. The seed chooses values within the bounds. Pure. */
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

/** A block in which every field has a default. */
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

/** The format of the bounds in every duration of the schema. */
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

/** Written with a unit: ten years in seconds would have too many digits for the schema. */
function textOf(seconds: number): string {
  return `${Math.floor(seconds / 3600)}h${seconds % 3600}s`;
}
