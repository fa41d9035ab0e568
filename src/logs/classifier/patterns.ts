import { RE2JS, RE2JSSyntaxException } from "re2js";
import { unwrap } from "./envelope";

/** Why a pattern was rejected. */
export interface PatternError {
  /** Which pattern, from 0. */
  readonly index: number;
  readonly pattern: string;
  /** Offset of the first wrong character, from 0. */
  readonly position: number;
  /** What is wrong, without a full stop. */
  readonly message: string;
}

/** Compiled patterns, or every error in them. */
export type CompiledPatterns =
  | { readonly ok: true; readonly match: (record: string) => boolean }
  | { readonly ok: false; readonly errors: readonly PatternError[] };

const LONGEST_PATTERN = 1024;

/**
 * Compiles `spec.tokenRestart.extraPatterns` with a regular expression engine that takes linear time.
 * @param patterns RE2 syntax: no back-references, no look-around.
 * @returns `match`, which reports whether any pattern matches a record without colors and the runtime's prefixes; or
 *   the rejected patterns. A pattern that matches the empty string is rejected, because it matches every record.
 */
export function compilePatterns(patterns: readonly string[]): CompiledPatterns {
  const compiled: RE2JS[] = [];
  const errors: PatternError[] = [];
  patterns.forEach((pattern, index) => {
    const result = compileOne(pattern);
    if (result instanceof RE2JS) compiled.push(result);
    else errors.push({ index, pattern, ...result });
  });
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, match: record => compiled.length > 0 && matchesAny(compiled, unwrap(record)) };
}

function matchesAny(compiled: readonly RE2JS[], text: string): boolean {
  return compiled.some(pattern => pattern.test(text));
}

type Rejection = Pick<PatternError, "position" | "message">;

function compileOne(pattern: string): RE2JS | Rejection {
  if (pattern.length > LONGEST_PATTERN) {
    return { position: LONGEST_PATTERN, message: `longer than ${LONGEST_PATTERN} characters` };
  }
  const result = tryCompile(pattern);
  if (!(result instanceof RE2JS)) return { position: positionOf(pattern, result), message: messageOf(result) };
  if (matchesNothing(result)) return { position: 0, message: "matches the empty string, and with it every record" };
  return result;
}

/** An error message of the engine, and the part of the pattern that it is about. */
interface EngineError {
  readonly error: string;
  readonly fragment: string | null;
}

function tryCompile(pattern: string): RE2JS | EngineError {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return { error: error.error, fragment: error.input };
    return { error: error instanceof Error ? error.message : String(error), fragment: null };
  }
}

function messageOf({ error, fragment }: EngineError): string {
  return fragment === null ? error : `${error}: ${fragment}`;
}

/** A pattern that can match the empty string (`\b`, `x*`) does so in one of these. */
const SAMPLES = ["", "a", " ", "a b"];

function matchesNothing(pattern: RE2JS): boolean {
  return SAMPLES.some(sample => {
    const matcher = pattern.matcher(sample);
    return matcher.find() && matcher.start() === matcher.end();
  });
}

/** The engine reports the fragment and not its position. The shortest prefix with the same error ends with the fragment. */
function positionOf(pattern: string, engineError: EngineError): number {
  const { error, fragment } = engineError;
  if (fragment === null) return Math.max(0, pattern.length - 1);
  if (fragment === pattern && error.endsWith(")")) return unbalanced(pattern);
  for (let end = fragment.length; end <= pattern.length; end++) {
    const prefix = tryCompile(pattern.slice(0, end));
    if (!(prefix instanceof RE2JS) && prefix.error === error && prefix.fragment === fragment) {
      return pattern.slice(0, end).lastIndexOf(fragment);
    }
  }
  return Math.max(0, pattern.indexOf(fragment));
}

/** The first parenthesis that closes nothing, otherwise the innermost that is never closed. */
function unbalanced(pattern: string): number {
  const open: number[] = [];
  for (const { character, at } of parentheses(pattern)) {
    if (character === "(") open.push(at);
    else if (open.pop() === undefined) return at;
  }
  return open.at(-1) ?? 0;
}

/** Parentheses that are neither escaped nor in a character class. */
function parentheses(pattern: string): { character: string; at: number }[] {
  const found: { character: string; at: number }[] = [];
  let inClass = false;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern.charAt(at);
    if (character === "\\") at++;
    else if (character === "[" || character === "]") inClass = character === "[";
    else if (!inClass && (character === "(" || character === ")")) found.push({ character, at });
  }
  return found;
}
