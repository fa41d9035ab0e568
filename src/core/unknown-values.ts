import { CHOICES } from "../api/generated/choices";

/** The block itself takes an unknown value for its most careful one: a throttle must still end. */
const HANDLED: readonly string[] = ["flowIsolation.requestRate.onRunaway"];

/** Longest part of a value in a sentence. */
const SHOWN = 40;

/**
 * Returns which values of a block or of the targets this version does not know, one sentence each. A later version may have allowed them: the API
 * server does not check an object again after a rollback. Pure.
 */
export function unknownValues(spec: object, block: string): string[] {
  const isRead = (path: string): boolean => path.startsWith(`${block}.`) || path.startsWith("targets[]");
  const paths = CHOICES.filter(([path]) => isRead(path) && !HANDLED.includes(path));
  return paths.flatMap(([path, known]) =>
    valuesAt(spec, path.split("."))
      .filter(value => !known.includes(value as string))
      .map(value => `found ${shown(value)} in ${path}, expected ${known.join(" or ")}`),
  );
}

/** The values that are there: an absent field has none. */
function valuesAt(value: unknown, [step, ...rest]: readonly string[]): unknown[] {
  if (value === undefined || value === null) return [];
  if (step === undefined) return [value];
  const isList = step.endsWith("[]");
  const field = (value as Readonly<Record<string, unknown>>)[isList ? step.slice(0, -2) : step];
  return isList ? asList(field).flatMap(item => valuesAt(item, rest)) : valuesAt(field, rest);
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, SHOWN);
}
