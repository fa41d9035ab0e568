// Checks values against the CEL rules of a CRD, as the API server does.
import { Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";

/** One entry of `x-kubernetes-validations`. */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
}

/** CEL's `matches` has RE2's syntax and searches in linear time. */
const ENVIRONMENT = new Environment({ homogeneousAggregateLiterals: false }).registerVariable("self", "dyn");

/** A rule whose pattern comes from the value: the syntax of JavaScript's patterns would refuse what RE2 accepts. */
const PATTERN_RULE = "!''.matches(self)";

type Program = (context: { readonly self: unknown }) => unknown;
const programs = new Map<string, Program>();

/** Returns what is wrong with a value, one sentence per broken rule. */
export function brokenRules(rules: readonly Rule[], value: unknown): string[] {
  const self = celOf(value);
  return rules.filter(({ rule }) => !holds(rule, self)).map(rule => messageOf(rule, value, self));
}

/** A rule that cannot be evaluated on a value is broken, as for the API server. */
function holds(rule: string, self: unknown): boolean {
  if (rule === PATTERN_RULE) return !matchesEmpty(self);
  return evaluated(rule, self) === true;
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

/** A pattern that is not valid is reported with its position by what compiles it. */
function matchesEmpty(pattern: unknown): boolean {
  try {
    return RE2JS.compile(String(pattern)).matcher("").find();
  } catch {
    return false;
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
