import { KUBERNETES_NOUNS, KUBERNETES_WORDS } from "./vocabulary";
import { includesAny, phrases, indexOfWord, isWholeWord, isWordCode, wordBefore } from "./text";

/** A denial by the API server, and its wording. */
export interface Denial {
  /** HTTP status. */
  readonly code: string;
  /** `reason` of the Status object, and its whole message: the API server says only this word. */
  readonly word: string;
  /** Phrases that only Kubernetes clients print for it, in lower case. */
  readonly phrases: readonly string[];
}

/** Words of a sentence that reports a failure: in one, no colon is needed before the reason. */
export const FAILING = phrases("error, fail, unable, could not, couldn't, cannot, can't, refused, fatal, panic");

/** 401: not authenticated. */
export const UNAUTHORIZED: Denial = {
  code: "401",
  word: "Unauthorized",
  phrases: [
    // apimachinery, for a 401 without a readable body: open watches, discovery, helm.
    "the server has asked for the client to provide credentials",
    // kubectl, for both.
    "you must be logged in to the server",
    "error from server (unauthorized):",
    // fabric8, depending on its kind of credential.
    "unauthorized! configured service account doesn't have access",
    "unauthorized! token may have expired",
    // kopf, after a 401 for each of its credentials.
    "ran out of valid credentials",
  ],
};

/** 429: too many requests. */
export const TOO_MANY_REQUESTS: Denial = {
  code: "429",
  word: "TooManyRequests",
  phrases: ["error from server (toomanyrequests)", "the server has received too many requests"],
};

/** 403: not permitted. */
export const FORBIDDEN: Denial = {
  code: "403",
  word: "Forbidden",
  phrases: [
    // RBAC of Kubernetes 1.4 and later, and of earlier versions.
    ' is forbidden: user "',
    'user "system:',
    // Admission plugins, after the quoted object name: quotas, Pod Security.
    '" is forbidden: ',
    "error from server (forbidden):",
    // apimachinery, for a 403 without a readable body.
    "the server does not allow access to the requested resource",
    // fabric8.
    "forbidden!configured service account doesn't have access",
    "forbidden! configured service account doesn't have access",
    "kubernetes api access is forbidden",
    // fabric8's websocket; only a watch of the API server uses this upgrade.
    "expected http 101 response but was '403 forbidden'",
  ],
};

/**
 * A place in a sentence that reports a denied request.
 * - `bare`: the API server's whole answer at the end of an error chain. It counts as the API server's unless evidence
 *   points to another service.
 * - `http`: a status that any HTTP server gives. It counts as the API server's only with evidence.
 */
export interface Answer {
  readonly at: number;
  readonly end: number;
  readonly kind: "bare" | "http";
}

/** Finds every place in a lower-cased sentence where the number is an HTTP status, from left to right. */
export function codeAnswers(key: string, lower: string, denial: Denial): Answer[] {
  const found: Answer[] = [];
  for (let at = indexOfWord(lower, denial.code); at >= 0; at = indexOfWord(lower, denial.code, at + 1)) {
    const end = at + denial.code.length;
    const kind = codeKind(key, lower, { at, end });
    if (kind !== null) found.push({ at, end, kind });
    else found.push(...terseAnswer(lower, at, end));
  }
  return found;
}

type Span = Pick<Answer, "at" | "end">;

/** `[401 403 429]`, `401|403`: a list of statuses is a setting. */
function isListed(lower: string, at: number, end: number): boolean {
  return isStatusNumber(lower, end + 1) || isStatusNumber(lower, end + 2) || isStatusNumber(lower, at - 4);
}

function isStatusNumber(lower: string, at: number): boolean {
  const number = Number(lower.slice(Math.max(0, at), at + 3));
  return at >= 0 && number >= 400 && number < 600 && isWholeWord(lower, at, at + 3);
}

function codeKind(key: string, lower: string, { at, end }: Span): Answer["kind"] | null {
  if (isListed(lower, at, end)) return null;
  if (isGeneratedException(lower, at, end)) return "bare";
  let i = at - 1;
  while (i >= 0 && LEADING.has(lower.charAt(i))) i--;
  // client-node's exceptions print a header that no HTTP library prints.
  if (lower.endsWith("http-code", i + 1)) return "bare";
  const isStatus =
    i < 0 ? includesAny(key, STATUS_WORDS) : isStatusBefore(lower, i + 1) || isOutcome(lower, i + 1, at, end);
  return isStatus ? "http" : null;
}

/** Quotes, brackets and separators before the number. */
const LEADING = new Set("\"'`([{< \t:=");

function isStatusBefore(lower: string, end: number): boolean {
  const word = wordBefore(lower, end);
  // "authorization failure (401)"
  if (word === "failure" && lower.startsWith(" (", end)) return true;
  return includesAny(word, STATUS_WORDS) || STATUS_VERBS.has(word) || includesAny(word, EXCEPTIONS);
}

const EXCEPTIONS = ["error", "exception"];

/** The number alone as the result of a request: `GET /path -> 401`, `failed to list pods: 401`, `failure: 401 https://host/path`. */
function isOutcome(lower: string, before: number, at: number, end: number): boolean {
  if (SCHEMES.some(scheme => lower.startsWith(scheme, end + 1))) return true;
  if (!isLast(lower, end)) return false;
  const separator = lower.slice(Math.max(0, before - 1), at).trim();
  if (ARROWS.some(arrow => separator.startsWith(arrow))) return true;
  // A number directly after a colon is a line of code or a port.
  return (lower.startsWith(": ", before) || lower.endsWith(" -", before)) && hasFailed(lower, at);
}

const SCHEMES = ["http://", "https://", "wss://"];
const ARROWS = ["->", "=>", "→", ">"];

/** Whether nothing follows; "list pods 401, list nodes 12" counts objects. */
function isLast(lower: string, end: number): boolean {
  return lower.slice(end, end + TAIL_REACH).trim() === "";
}

/** Longer than any white space at the end. */
const TAIL_REACH = 16;

/** Longer words are data. */
const WORD_REACH = 300;

function hasFailed(lower: string, at: number): boolean {
  return includesAny(lower.slice(Math.max(0, at - FAILURE_REACH), at), FAILING);
}

/** Longest distance from a failure's words to its status. */
const FAILURE_REACH = 120;

/** `Get pods 401`: says what was requested but not from which server, so the answer includes the request. */
function terseAnswer(lower: string, at: number, end: number): Answer[] {
  if (!isLast(lower, end)) return [];
  const last = lower.charAt(at - 2) === ":" ? at - 2 : at - 1;
  const resource = wordBefore(lower, last);
  if (!KUBERNETES_WORDS.has(resource) && !KUBERNETES_NOUNS.has(resource)) return [];
  const from = lower.lastIndexOf(" ", last - 1);
  if (last - from > WORD_REACH) return [];
  const verb = wordBefore(lower, from);
  return TERSE_VERBS.has(verb) ? [{ at: from - verb.length, end, kind: "http" }] : [];
}

/** Verbs of requests. With others, such as "update", the number may be a count. */
const TERSE_VERBS = new Set(["get", "list", "watch"]);

/** Generated clients print an exception as "(401)" and the reason on the next line. */
function isGeneratedException(lower: string, at: number, end: number): boolean {
  if (lower.length === end + 1 && at === 1) return lower.startsWith("(") && lower.endsWith(")");
  if (
    !lower.startsWith("(", at - 1) ||
    !lower
      .slice(0, at - 1)
      .trimEnd()
      .endsWith(":")
  )
    return false;
  const rest = lower.slice(end + 1).trimStart();
  return rest === "" || rest.startsWith("reason:");
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

/** Longer than a Status object in any language's format. */
const STATUS_REACH = 700;
/** Most characters between a key and its value: quotes, colons and brackets. */
const KEY_REACH = 8;

/**
 * Whether a text contains the API server's Status object with this code, as JSON, Go, Rust, Java or Node print it.
 * All of them contain Failure, the code under the key `code`, and the reason.
 */
export function hasStatusObject(text: string, denial: Denial): boolean {
  for (let at = indexOfWord(text, denial.code); at >= 0; at = indexOfWord(text, denial.code, at + 1)) {
    if (!isUnderCode(text, at)) continue;
    const around = text.slice(Math.max(0, at - STATUS_REACH), at + STATUS_REACH);
    if (indexOfWord(around, "Failure") >= 0 && indexOfWord(around, denial.word) >= 0) return true;
  }
  return false;
}

/** `code: 401`, `"code":401`, `Code:401`. */
function isUnderCode(text: string, at: number): boolean {
  const end = keyEnd(text, at);
  return text.endsWith("code", end) || text.endsWith("Code", end);
}

function keyEnd(text: string, at: number): number {
  let end = at;
  while (end > 0 && !isWordCode(text.charCodeAt(end - 1)) && at - end < KEY_REACH) end--;
  return end;
}
