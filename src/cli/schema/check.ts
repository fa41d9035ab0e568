// Checks an object or a part of it against the schema of the CRD, as the API server does.
import { Ajv, type ErrorObject } from "ajv";
import { brokenRules, type Rule } from "./rules";

/** The part of a JSON schema that is read here; ajv reads the rest. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly "x-kubernetes-validations"?: readonly Rule[];
}

const FORMATS = {
  int32: true,
  int64: true,
  "date-time": (text: string) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)),
} as const;

/** Fills in the schema's defaults in `block`, and returns what is wrong with it, one sentence per error. */
export function checkSpec(block: unknown, schema: Schema, path: string): string[] {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true, formats: FORMATS });
  ajv.addVocabulary(["x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"]);
  const errors: string[] = [];
  ajv.addKeyword({
    keyword: "x-kubernetes-validations",
    // After the defaults of the fields.
    post: true,
    validate: (rules: readonly Rule[], value: unknown, _schema: unknown, at?: { instancePath: string }) => {
      for (const error of brokenRules(rules, value)) errors.push(`${path}${dotted(at?.instancePath ?? "")}: ${error}`);
      return true;
    },
  });
  const validate = ajv.compile(strict(schema));
  validate(block);
  const found = (validate.errors ?? []).map(error => `${path}${dotted(error.instancePath)}${describe(error)}`);
  // A rule about a value that is none says nothing more.
  return found.length > 0 ? found : errors;
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
  minProperties: ({ limit }) => `expected ${String(limit)} or more fields`,
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
  if (keyword === "required") return `: expected the field ${String(params["missingProperty"])}`;
  const expected = DESCRIPTIONS[keyword]?.(params as Record<string, unknown>) ?? message ?? keyword;
  return `: ${expected}, got ${JSON.stringify(data)}`;
}
