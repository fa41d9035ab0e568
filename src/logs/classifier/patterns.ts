import { RE2JS, RE2JSSyntaxException } from "re2js";
import { unwrap } from "./envelope";

/** Why a pattern was refused. */
export interface PatternError {
  /** Which pattern, from 0. */
  readonly index: number;
  readonly pattern: string;
  /** Offset of the first character that is wrong, from 0. */
  readonly position: number;
  /** What is wrong, as a sentence without its full stop. */
  readonly message: string;
}

/** Compiled patterns, or the reasons why they can't be. */
export type CompiledPatterns =
  | { readonly ok: true; readonly match: (record: string) => boolean }
  | { readonly ok: false; readonly errors: readonly PatternError[] };

/** Nobody writes longer ones by hand. */
const LONGEST_PATTERN = 1024;

/**
 * Compiles patterns of a ControllerResilience (`spec.tokenRestart.extraPatterns`) for an engine that needs linear time.
 * @param patterns in RE2 syntax: no back-references, no look-around.
 * @returns `match`, which tells whether any of them is found in a record (without the runtime's prefixes and without
 *   colours); or every pattern that was refused, with the position: invalid ones, and those that match the empty string,
 *   which would accuse every record.
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

type Refusal = Pick<PatternError, "position" | "message">;

function compileOne(pattern: string): RE2JS | Refusal {
  if (pattern.length > LONGEST_PATTERN) {
    return { position: LONGEST_PATTERN, message: `longer than ${LONGEST_PATTERN} characters` };
  }
  const result = tryCompile(pattern);
  if (!(result instanceof RE2JS)) return { position: positionOf(pattern, result), message: messageOf(result) };
  if (matchesNothing(result)) return { position: 0, message: "matches the empty string, and with it every record" };
  return result;
}

/** What the engine says of a pattern: its complaint, and the part of the pattern it complains about. */
interface Complaint {
  readonly error: string;
  readonly fragment: string | null;
}

function tryCompile(pattern: string): RE2JS | Complaint {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return { error: error.error, fragment: error.input };
    return { error: error instanceof Error ? error.message : String(error), fragment: null };
  }
}

function messageOf({ error, fragment }: Complaint): string {
  return fragment === null ? error : `${error}: ${fragment}`;
}

/** Texts in which a pattern of nothing but positions (`\b`, `x*`) is found, with nothing in it. */
const SAMPLES = ["", "a", " ", "a b"];

function matchesNothing(pattern: RE2JS): boolean {
  return SAMPLES.some(sample => {
    const matcher = pattern.matcher(sample);
    return matcher.find() && matcher.start() === matcher.end();
  });
}

/** The engine names the fragment, not its place: the shortest prefix with the same complaint ends where the fragment does. */
function positionOf(pattern: string, complaint: Complaint): number {
  const { error, fragment } = complaint;
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

/** The first parenthesis that closes nothing, else the innermost that is never closed. */
function unbalanced(pattern: string): number {
  const open: number[] = [];
  for (const { character, at } of parentheses(pattern)) {
    if (character === "(") open.push(at);
    else if (open.pop() === undefined) return at;
  }
  return open.at(-1) ?? 0;
}

/** The parentheses that group: neither escaped nor in a class. */
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
