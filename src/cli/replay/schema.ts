import { parseDuration } from "../../core/duration";

/** The part of an OpenAPI schema that the blocks of the spec use. */
export interface Schema {
  readonly type?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly "x-kubernetes-validations"?: readonly Rule[];
}

interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
}

type Complaints = string[];
type Check = (value: unknown, schema: Schema, path: string) => Complaints;

/** The value with the defaults that the API server would fill in. */
export function withDefaults(value: unknown, schema: Schema): unknown {
  const given = value ?? schema.default;
  if (!isBag(given) || schema.properties === undefined) return given;
  const defaulted = Object.entries(schema.properties).map(
    ([name, of]) => [name, withDefaults(given[name], of)] as const,
  );
  return { ...given, ...Object.fromEntries(defaulted.filter(([, field]) => field !== undefined)) };
}

/** What is wrong with a value, as sentences that begin with its path; none if nothing is. */
export function complaintsAbout(value: unknown, schema: Schema, path: string): Complaints {
  const ofType = checkType(value, schema, path);
  return ofType.length > 0
    ? ofType
    : [checkBounds, checkFields, checkItems, checkRules].flatMap(check => check(value, schema, path));
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === "string",
  integer: value => Number.isInteger(value),
  boolean: value => typeof value === "boolean",
  array: value => Array.isArray(value),
  object: isBag,
};

const checkType: Check = (value, { type, enum: values }, path) => {
  if (type !== undefined && TYPES[type]?.(value) === false)
    return [
      `${path}: found ${JSON.stringify(value)}, expected ${type === "integer" ? "a whole number" : `a value of type ${type}`}`,
    ];
  if (values === undefined || values.includes(value as string)) return [];
  return [`${path}: found ${JSON.stringify(value)}, expected one of ${values.join(", ")}`];
};

const checkBounds: Check = (value, schema, path) => {
  if (typeof value === "number") return outside(value, [schema.minimum, schema.maximum], path, "");
  if (typeof value === "string")
    return outside(value.length, [schema.minLength, schema.maxLength], path, " characters");
  return Array.isArray(value) ? outside(value.length, [schema.minItems, schema.maxItems], path, " entries") : [];
};

function outside(size: number, [least, most]: readonly (number | undefined)[], path: string, unit: string): Complaints {
  if (least !== undefined && size < least) return [`${path}: found ${size}${unit}, expected ${least} or more`];
  return most !== undefined && size > most ? [`${path}: found ${size}${unit}, expected ${most} or fewer`] : [];
}

const checkFields: Check = (value, { properties }, path) => {
  if (!isBag(value) || properties === undefined) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const schema = properties[name];
    if (schema !== undefined) return complaintsAbout(field, schema, `${path}.${name}`);
    return [`${path}.${name}: there is no such field, expected one of ${Object.keys(properties).join(", ")}`];
  });
};

const checkItems: Check = (value, { items }, path) => {
  if (!Array.isArray(value) || items === undefined) return [];
  return value.flatMap((item, i) => complaintsAbout(item, items, `${path}[${i}]`));
};

/** Bounds of a duration, and which of two durations may not be longer: the two forms that the rules about durations have. */
const DURATION_BOUNDS = /duration\(self\) >= duration\('(\w+)'\) && duration\(self\) <= duration\('(\w+)'\)/;
const DURATION_ORDER = /duration\(self\.(\w+)\) (<=?) duration\(self\.(\w+)\)$/;

const checkRules: Check = (value, schema, path) =>
  (schema["x-kubernetes-validations"] ?? []).flatMap(rule =>
    holds(value, rule.rule) ? [] : [`${path}: ${messageOf(value, rule)}`],
  );

/** A message as it stands, or one that is put together of quoted text and fields: the only expressions there are. */
function messageOf(value: unknown, { rule, message, messageExpression }: Rule): string {
  if (messageExpression === undefined) return `found ${JSON.stringify(value)}, ${message ?? `expected ${rule}`}`;
  const fields = isBag(value) ? value : {};
  return messageExpression.replaceAll(/'([^']*)'|self\.(\w+)| \+ /g, (_, text?: string, field?: string) =>
    field === undefined ? (text ?? "") : String(fields[field]),
  );
}

function holds(value: unknown, rule: string): boolean {
  const bounds = DURATION_BOUNDS.exec(rule);
  if (bounds !== null) return isBetween(value, durationOf(bounds[1]), durationOf(bounds[2]));
  const order = DURATION_ORDER.exec(rule);
  if (order === null || !isBag(value)) return true;
  const [a, b] = [durationOf(value[order[1] ?? ""]), durationOf(value[order[3] ?? ""])];
  return Number.isNaN(a) || Number.isNaN(b) || (order[2] === "<" ? a < b : a <= b);
}

function isBetween(value: unknown, leastMs: number, mostMs: number): boolean {
  const ms = durationOf(value);
  return ms >= leastMs && ms <= mostMs;
}

/** Milliseconds; not a number if it is no duration. */
function durationOf(value: unknown): number {
  try {
    return parseDuration(String(value));
  } catch {
    return NaN;
  }
}

/** Whether it is a mapping. */
export function isBag(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
