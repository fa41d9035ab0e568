import type { Answer } from "./answer";
import type { Denial } from "./denial";
import { KUBERNETES_NOUNS, KUBERNETES_WORDS } from "./kubernetes-words";
import { includesAny, indexOfWord, isWholeWord, isWordCode, lowerCase, wordBefore } from "./text";

/** Finds every place in a lower-cased sentence where the number is an HTTP status, from left to right. */
export function codeAnswers(key: string, lower: string, denial: Denial): Answer[] {
  const found: Answer[] = [];
  for (let at = indexOfWord(lower, denial.code); at >= 0; at = indexOfWord(lower, denial.code, at + 1)) {
    const end = at + denial.code.length;
    const kind = codeKind(key, lower, { at, end }, denial);
    if (kind !== null) found.push({ at, end, kind });
    else found.push(...terseAnswer(lower, at, end));
  }
  return found;
}

type Span = Pick<Answer, "at" | "end">;

/** Protocol versions before the number of a status line. */
const PROTOCOLS = ["http/1.0", "http/1.1", "http/2", "http/2.0", "http/3"];

/** `[401 403 429]`, `401|403`: a list of statuses is a setting. */
function isListed(lower: string, at: number, end: number): boolean {
  return isStatusNumber(lower, end + 1) || isStatusNumber(lower, end + 2) || isStatusNumber(lower, at - 4);
}

function isStatusNumber(lower: string, at: number): boolean {
  const number = Number(lower.slice(Math.max(0, at), at + 3));
  return at >= 0 && number >= 400 && number < 600 && isWholeWord(lower, at, at + 3);
}

function codeKind(key: string, lower: string, { at, end }: Span, denial: Denial): Answer["kind"] | null {
  if (isPartOfNumber(lower, at, end) || isListed(lower, at, end)) return null;
  if (isGeneratedException(lower, at, end)) return "bare";
  let i = at - 1;
  while (i >= 0 && LEADING.has(lower.charAt(i))) i--;
  // client-node's exceptions print a header that no HTTP library prints.
  if (lower.endsWith("http-code", i + 1)) return "bare";
  const isStatus =
    i < 0 ? isWholeStatus(key, lower, end) : isStatusBefore(lower, i + 1, denial) || isOutcome(lower, i + 1, at, end);
  return isStatus ? "http" : null;
}

/** Quotes, brackets and separators before the number. */
const LEADING = new Set("\"'`([{< \t:=");

/** A sentence that begins with the number: the value of a status field, or "401 Client Error" of Python's requests. */
function isWholeStatus(key: string, lower: string, end: number): boolean {
  return includesAny(key, STATUS_WORDS) || lower.startsWith(" client error", end);
}

function isStatusBefore(lower: string, end: number, denial: Denial): boolean {
  if (PROTOCOLS.some(protocol => lower.endsWith(protocol, end))) return true;
  const word = wordBefore(lower, end);
  // 'Unauthorized' (401)
  if (word === lowerCase(denial.word)) return true;
  // "authorization failure (401)"
  if (word === "failure" && lower.startsWith(" (", end)) return true;
  return includesAny(word, STATUS_WORDS) || STATUS_VERBS.has(word) || includesAny(word, EXCEPTIONS);
}

const EXCEPTIONS = ["error", "exception"];

/** The number alone as the result of a request: `GET /path -> 401`, `https://host/path: 401`, `failed to list pods - 401`, `failure: 401 https://host/path`. */
function isOutcome(lower: string, before: number, at: number, end: number): boolean {
  if (SCHEMES.some(scheme => lower.startsWith(scheme, end + 1))) return true;
  if (!endsStatement(lower, end)) return false;
  const separator = lower.slice(Math.max(0, before - 1), at).trim();
  if (ARROWS.some(arrow => lower.endsWith(arrow, before) || separator.startsWith(arrow))) return true;
  // A number directly after a colon is a line of code or a port.
  if (lower.slice(before, at).startsWith(": ")) return isAddressBefore(lower, before) || hasFailed(lower, at);
  return lower.endsWith(" -", before) && hasFailed(lower, at);
}

const SCHEMES = ["http://", "https://", "wss://"];
const ARROWS = ["->", "=>", "→", ">"];

function endsStatement(lower: string, end: number): boolean {
  const rest = lower.slice(end, end + TAIL_REACH).trimStart();
  return (
    rest === "" || STATEMENT_ENDS.has(rest.charAt(0)) || rest.startsWith("unauthorized") || rest.startsWith("forbidden")
  );
}

const STATEMENT_ENDS = new Set(".,;)]}\"'`");

/** Longer than the reason of a status line. */
const TAIL_REACH = 16;

function isAddressBefore(lower: string, end: number): boolean {
  const from = Math.max(0, end - ADDRESS_REACH);
  const token = lower.slice(lower.lastIndexOf(" ", end - 1) + 1, end);
  return token.length <= end - from && (token.startsWith("/") || token.includes("://"));
}

/** Longer tokens are data. */
const ADDRESS_REACH = 300;

function hasFailed(lower: string, at: number): boolean {
  return includesAny(lower.slice(Math.max(0, at - FAILURE_REACH), at), FAILURES);
}

/** Longest distance from a failure's words to its status. */
const FAILURE_REACH = 120;
const FAILURES = ["failed to ", "unable to ", "could not ", "cannot ", "couldn't ", "can't ", "error "];

/** `Get pods 401`: says what was requested but not from which server, so the answer includes the request. */
function terseAnswer(lower: string, at: number, end: number): Answer[] {
  if (lower.charAt(at - 1) !== " " || !endsSentence(lower, end)) return [];
  const last = lower.charAt(at - 2) === ":" ? at - 2 : at - 1;
  const resource = wordBefore(lower, last);
  if (!KUBERNETES_WORDS.has(resource) && !KUBERNETES_NOUNS.has(resource)) return [];
  const from = lower.lastIndexOf(" ", last - 1);
  if (last - from > ADDRESS_REACH) return [];
  const verb = wordBefore(lower, from);
  return TERSE_VERBS.has(verb) ? [{ at: from - verb.length, end, kind: "http" }] : [];
}

/** Whether nothing but the reason follows; "list pods 401, list nodes 12" counts objects. */
function endsSentence(lower: string, end: number): boolean {
  const rest = lower.slice(end, end + TAIL_REACH).trim();
  return rest === "" || rest === "." || rest.startsWith("unauthorized") || rest.startsWith("forbidden");
}

/** Verbs of requests. With others, such as "update", the number may be a count. */
const TERSE_VERBS = new Set(["get", "list", "watch"]);

/** 401.04, 401ms, :401], 10-401, 2.401: the digits are part of something larger. */
function isPartOfNumber(lower: string, at: number, end: number): boolean {
  const before = lower.charAt(at - 1);
  const after = lower.charAt(end);
  if (before === "." || before === "-" || before === "/" || before === "#") return true;
  if (after === "-" || after === "/" || after === "%") return true;
  return (after === "." || after === ":") && isWordCode(lower.charCodeAt(end + 1));
}

/** Kubernetes' generated clients print an exception as "(401)" and the reason on the next line. */
function isGeneratedException(lower: string, at: number, end: number): boolean {
  if (
    lower.charAt(at - 1) !== "(" ||
    lower.charAt(end) !== ")" ||
    !lower
      .slice(0, at - 1)
      .trimEnd()
      .endsWith(":")
  ) {
    return at === 1 && lower.charAt(0) === "(" && lower.slice(end) === ")";
  }
  const rest = lower.slice(end + 1).trimStart();
  return rest === "" || rest === "'" || rest.startsWith("reason:");
}

const STATUS_WORDS = ["status", "code", "http"];
const STATUS_VERBS = new Set([
  "error",
  "returned",
  "returns",
  "answered",
  "got",
  "received",
  "response",
  "responded",
  "replied",
  "says",
  "said",
  "with",
]);
