// Checks a tokenRestart block against the schema of the CRD, as the API server does.
import { Ajv, type ErrorObject } from "ajv";
import { parseDuration } from "../../core/duration";

/** The part of a JSON schema that is read here; ajv reads the rest. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string }[];
}

/** What is wrong with a value; undefined if nothing is. */
type Check = (value: unknown) => string | undefined;

const DURATION = "matches('^([0-9]{1,6}(h|m|s))+$')";

/** The CEL rules of the CRD that are checked here, by their text. */
const CHECKS: ReadonlyMap<string, Check> = new Map([
  durationBetween("1m", "24h"),
  durationBetween("10s", "6h"),
  durationBetween("30s", "24h"),
  durationBetween("1m", "168h"),
  durationsInOrder("minDuration", "<", "window"),
  durationsInOrder("cooldown", "<=", "maxRestartsWindow"),
  // createDetector compiles the patterns and rejects such a pattern with its position.
  ["!''.matches(self)", () => undefined],
]);

function durationBetween(least: string, most: string): [string, Check] {
  const rule = `self.${DURATION} && duration(self) >= duration('${least}') && duration(self) <= duration('${most}')`;
  return [
    rule,
    value => {
      const ms = milliseconds(value);
      if (ms === undefined) return `expected a duration such as 15m, got ${JSON.stringify(value)}`;
      if (ms >= parseDuration(least) && ms <= parseDuration(most)) return undefined;
      return `expected a duration between ${least} and ${most}, got ${JSON.stringify(value)}`;
    },
  ];
}

function durationsInOrder(shorter: string, order: "<" | "<=", longer: string): [string, Check] {
  const rule = `!self.${shorter}.${DURATION} || !self.${longer}.${DURATION} || duration(self.${shorter}) ${order} duration(self.${longer})`;
  return [
    rule,
    value => {
      const { [shorter]: first, [longer]: second } = value as Record<string, unknown>;
      const [a, b] = [milliseconds(first), milliseconds(second)];
      if (a === undefined || b === undefined || (order === "<" ? a < b : a <= b)) return undefined;
      const expected = order === "<" ? "shorter than" : "no longer than";
      return `expected ${shorter} to be ${expected} ${longer}, got ${shorter} ${String(first)} and ${longer} ${String(second)}`;
    },
  ];
}

function milliseconds(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^([0-9]{1,6}[hms])+$/.test(value)) return undefined;
  return parseDuration(value);
}

/** Returns the CEL rules of a schema that `checkSpec` does not know, each with its path. */
export function uncheckedRules(schema: Schema, path: string): string[] {
  const rules = schema["x-kubernetes-validations"] ?? [];
  return [
    ...rules.filter(({ rule }) => !CHECKS.has(rule)).map(({ rule }) => `${path}: ${rule}`),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => uncheckedRules(field, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : uncheckedRules(schema.items, `${path}[]`)),
  ];
}

/** Fills in the schema's defaults in `block`, and returns what is wrong with it, one sentence per error. */
export function checkSpec(block: unknown, schema: Schema, path: string): string[] {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true, formats: { int32: true } });
  ajv.addVocabulary(["x-kubernetes-list-type", "x-kubernetes-map-type"]);
  const errors: string[] = [];
  ajv.addKeyword({
    keyword: "x-kubernetes-validations",
    validate: (rules: readonly { rule: string }[], value: unknown, _schema: unknown, at?: { instancePath: string }) => {
      for (const { rule } of rules) {
        const error = CHECKS.get(rule)?.(value);
        if (error !== undefined) errors.push(`${path}${dotted(at?.instancePath ?? "")}: ${error}`);
      }
      return true;
    },
  });
  const validate = ajv.compile(strict(schema));
  validate(block);
  return [...(validate.errors ?? []).map(error => `${path}${dotted(error.instancePath)}${describe(error)}`), ...errors];
}

/** Adds what the API server checks without a keyword of JSON schema: unknown fields, and duplicates in sets. */
function strict(schema: Schema): Schema {
  const { properties, items } = schema;
  return {
    ...schema,
    ...(schema["x-kubernetes-list-type"] === "set" ? { uniqueItems: true } : {}),
    ...(items === undefined ? {} : { items: strict(items) }),
    ...(properties === undefined
      ? {}
      : {
          additionalProperties: false,
          properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, strict(field)])),
        }),
  };
}

/** Returns `/evidence/0` as `.evidence[0]`. */
function dotted(pointer: string): string {
  return pointer.replaceAll(/\/(\d+)/g, "[$1]").replaceAll("/", ".");
}

const DESCRIPTIONS: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  type: ({ type }) => `expected ${type === "integer" ? "a whole number" : `type ${String(type)}`}`,
  enum: ({ allowedValues }) => `expected one of ${(allowedValues as string[]).join(", ")}`,
  uniqueItems: () => "expected no duplicates",
  minimum: ({ limit }) => `expected ${String(limit)} or more`,
  maximum: ({ limit }) => `expected ${String(limit)} or less`,
  minItems: ({ limit }) => `expected ${String(limit)} or more entries`,
  maxItems: ({ limit }) => `expected ${String(limit)} or fewer entries`,
  minLength: ({ limit }) => `expected ${String(limit)} or more characters`,
  maxLength: ({ limit }) => `expected ${String(limit)} or fewer characters`,
};

function describe({ keyword, params, parentSchema, data, message }: ErrorObject): string {
  if (keyword === "additionalProperties") {
    const fields = Object.keys((parentSchema?.["properties"] ?? {}) as object);
    return `.${String(params["additionalProperty"])}: unknown field, expected one of ${fields.join(", ")}`;
  }
  const expected = DESCRIPTIONS[keyword]?.(params as Record<string, unknown>) ?? message ?? keyword;
  return `: ${expected}, got ${JSON.stringify(data)}`;
}
