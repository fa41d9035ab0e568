import { CHOICES } from "../api/generated/choices";

/** The block itself takes an unknown value for its most careful one: a throttle must still end. */
const HANDLED: readonly string[] = ["flowIsolation.requestRate.onRunaway"];

/** A block that looks at unknown values of the targets itself, for the same reason. */
const ENDS_THROTTLES = "flowIsolation";

/** Longest part of a value in a sentence. */
const SHOWN = 40;

/**
 * Returns which values of a block or of the targets this version does not know, one sentence each. An earlier or a later version may have allowed
 * them: the API server does not check an object again. Pure.
 */
export function unknownValues(spec: object, block: string): string[] {
  const isRead = (path: string): boolean =>
    path.startsWith(`${block}.`) || (isOfTargets(path) && block !== ENDS_THROTTLES);
  return unknownAt(spec, path => isRead(path) && !HANDLED.includes(path));
}

/** Returns the same for the targets alone. Pure. */
export function unknownTargets(spec: object): string[] {
  return unknownAt(spec, isOfTargets);
}

/** Returns what a condition says of unknown values. */
export function describeUnknown(unknown: readonly string[]): string {
  return `No action: ${explainUnknown(unknown)}`;
}

/** Returns the same without what the operator does about it. */
export function explainUnknown(unknown: readonly string[]): string {
  return `${unknown.join("; ")}. This version of the operator does not know it: run one that does, or change the spec.`;
}

function isOfTargets(path: string): boolean {
  return path.startsWith("targets[]");
}

function unknownAt(spec: object, isRead: (path: string) => boolean): string[] {
  return CHOICES.filter(([path]) => isRead(path)).flatMap(([path, known]) =>
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
