import { Environment } from "@marcbachmann/cel-js";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { LineCounter, parse, parseAllDocuments } from "yaml";
import { oneLine } from "../../core/text";
import { crdText } from "../crd-text";
import { CliError } from "../streams";

type Kind = "ControllerResilience" | "ClusterControllerResilience";

const schemas = new Map<Kind, Schema>();

/** Returns the schema of the objects of a kind. */
export function schemaOf(kind: Kind): Schema {
  const known = schemas.get(kind) ?? parseSchema(kind);
  schemas.set(kind, known);
  return known;
}

function parseSchema(kind: Kind): Schema {
  const crd = parse(crdText(kind.toLowerCase())) as {
    spec: { versions: [{ schema: { openAPIV3Schema: Schema } }] };
  };
  return crd.spec.versions[0].schema.openAPIV3Schema;
}

// Reads the objects of a file.

/** Most characters of the text of a parser. */
const LONGEST = 200;

/** Returns the documents of a YAML or JSON file, without those that are empty. @throws CliError that says where it is neither */
export function readYaml(text: string, file: string): unknown[] {
  const lineCounter = new LineCounter();
  // A pretty error quotes the text in lines of its own.
  return parseAllDocuments(text, { lineCounter, prettyErrors: false }).flatMap(document => {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw errorOf(file, ` in line ${line}, column ${col}`, error);
    }
    return document.contents === null ? [] : [valueOf(document, file)];
  });
}

/** An alias without its anchor is found only here. */
function valueOf(document: { toJS(): unknown }, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw errorOf(file, "", error);
  }
}

function errorOf(file: string, place: string, error: unknown): CliError {
  const message = error instanceof Error ? error.message : "unknown";
  return new CliError(`${file}: expected YAML or JSON, got an error${place}: ${oneLine(message).slice(0, LONGEST)}`);
}

// Checks an object or a part of it against the schema of the CRD, as the API server does.

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

/** With the list that takes the sentences of broken rules as its `this`. */
const AJV = new Ajv({ allErrors: true, useDefaults: true, verbose: true, formats: FORMATS, passContext: true });
AJV.addVocabulary(["list-type", "map-type", "list-map-keys", "int-or-string"].map(word => `x-kubernetes-${word}`));
AJV.addKeyword({
  keyword: "x-kubernetes-validations",
  // After the defaults of the fields.
  post: true,
  validate(this: string[], ...[rules, value, , at]: [readonly Rule[], unknown, unknown, { instancePath: string }?]) {
    this.push(...brokenRules(rules, value).map(error => `${dotted(at?.instancePath ?? "")}: ${error}`));
    return true;
  },
});

const compiled = new WeakMap<Schema, ValidateFunction>();

/** Fills in the schema's defaults in `block`, and returns what is wrong with it, one sentence per error. */
export function checkSpec(block: unknown, schema: Schema, path: string): string[] {
  const broken: string[] = [];
  const validate = compiled.get(schema) ?? AJV.compile(strict(schema));
  compiled.set(schema, validate);
  validate.call(broken, block);
  const found = (validate.errors ?? []).map(error => `${dotted(error.instancePath)}${describe(error)}`);
  // A rule about a value that is none says nothing more.
  return (found.length > 0 ? found : broken).map(error => `${path}${error}`);
}

/** Adds what the API server checks without a keyword of JSON schema: unknown fields, and duplicates in sets. */
function strict(schema: Schema): Schema {
  const { properties, items } = schema;
  const fields = properties && Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, strict(one)]));
  return {
    ...schema,
    ...(schema["x-kubernetes-list-type"] === "set" && { uniqueItems: true }),
    ...(items && { items: strict(items) }),
    ...(fields && { additionalProperties: false, properties: fields }),
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

// Checks values against the CEL rules of a CRD, as the API server does.

/** One entry of `x-kubernetes-validations`. */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
}

/** CEL's `matches` has RE2's syntax and searches in linear time. */
const ENVIRONMENT = new Environment({ homogeneousAggregateLiterals: false }).registerVariable("self", "dyn");

type Program = (context: { readonly self: unknown }) => unknown;
const programs = new Map<string, Program>();

/** Returns what is wrong with a value, one sentence per broken rule. */
export function brokenRules(rules: readonly Rule[], value: unknown): string[] {
  const self = celOf(value);
  // A rule that cannot be evaluated on a value is broken, as for the API server.
  return rules.filter(({ rule }) => evaluated(rule, self) !== true).map(rule => messageOf(rule, value, self));
}

/** Undefined where the expression cannot be evaluated, such as without a field that it names. */
function evaluated(expression: string, self: unknown): unknown {
  const program = programs.get(expression) ?? (ENVIRONMENT.parse(expression) as Program);
  programs.set(expression, program);
  try {
    return program({ self });
  } catch {
    return undefined;
  }
}

function messageOf({ message, messageExpression, rule }: Rule, value: unknown, self: unknown): string {
  const found = messageExpression === undefined ? undefined : evaluated(messageExpression, self);
  if (typeof found === "string") return found;
  const sentence = message ?? `expected ${rule}`;
  return typeof value === "object" ? sentence : `${sentence}, got ${JSON.stringify(value)}`;
}

/** Converts whole numbers: CEL distinguishes them from others. */
function celOf(value: unknown): unknown {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celOf);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, celOf(field)]));
}
