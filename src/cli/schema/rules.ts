// Checks values against the CEL rules of a CRD, as the API server does.
import { Environment } from "@marcbachmann/cel-js";

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
  const program = programOf(expression);
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

function programOf(text: string): Program {
  const program = programs.get(text) ?? (ENVIRONMENT.parse(text) as Program);
  programs.set(text, program);
  return program;
}

/** Converts whole numbers: CEL distinguishes them from others. */
function celOf(value: unknown): unknown {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celOf);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, celOf(field)]));
}
