/** The part of a JSON schema that decides whether an object stays valid, and keeps its fields. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly default?: unknown;
  readonly [limit: string]: unknown;
}

/** Upper limits may rise, lower limits may sink. */
const UPPER = ["maximum", "maxLength", "maxItems", "maxProperties"] as const;
const LOWER = ["minimum", "minLength", "minItems", "minProperties"] as const;

/** What an object that the old schema accepts could lose, or be refused for, under the new one; one sentence each. Pure. */
export function losses(before: Schema, after: Schema | undefined, path: string): string[] {
  if (after === undefined) return [`${path} is gone`];
  return [
    ...changed(before, after, path),
    ...narrowed(before, after, path),
    ...(after.required ?? [])
      .filter(name => !(before.required ?? []).includes(name))
      .map(name => `${path}.${name} is required now`),
    ...Object.entries(before.properties ?? {}).flatMap(([name, schema]) =>
      losses(schema, after.properties?.[name], `${path}.${name}`),
    ),
    ...Object.entries(after.properties ?? {})
      .filter(([name, schema]) => before.properties?.[name] === undefined && schema.default !== undefined)
      .map(([name]) => `${path}.${name} is new and has a default, which the earlier definition does not apply`),
    ...inner(before.items, after.items, `${path}[]`),
    ...inner(mapOf(before), mapOf(after), `${path}{}`),
  ];
}

/** A default is part of what an object without the field means. */
function changed(before: Schema, after: Schema, path: string): string[] {
  const fields = ["type", "format", "default"] as const;
  return fields
    .filter(field => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map(field => `${field} of ${path} was ${shown(before[field])}, is ${shown(after[field])}`);
}

function narrowed(before: Schema, after: Schema, path: string): string[] {
  const gone =
    before.enum === undefined
      ? []
      : before.enum.filter(value => after.enum !== undefined && !after.enum.includes(value));
  const isNewEnum = before.enum === undefined && after.enum !== undefined;
  const isStricter = (limit: string, sign: 1 | -1): boolean => {
    const [was = sign * Infinity, is = sign * Infinity] = [before[limit], after[limit]] as (number | undefined)[];
    return sign * is < sign * was;
  };
  const limits = [...UPPER.filter(limit => isStricter(limit, 1)), ...LOWER.filter(limit => isStricter(limit, -1))];
  return [
    ...gone.map(value => `${path} may no longer be ${shown(value)}`),
    ...(isNewEnum ? [`${path} has an enum now`] : []),
    ...(before.nullable === true && after.nullable !== true ? [`${path} may no longer be null`] : []),
    ...limits.map(limit => `${limit} of ${path} was ${shown(before[limit])}, is ${shown(after[limit])}`),
  ];
}

function inner(before: Schema | undefined, after: Schema | undefined, path: string): string[] {
  return before === undefined ? [] : losses(before, after, path);
}

function mapOf({ additionalProperties }: Schema): Schema | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

function shown(value: unknown): string {
  return value === undefined ? "none" : JSON.stringify(value);
}
