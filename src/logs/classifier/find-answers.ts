import type { Answer } from "./answer";
import type { Denial } from "./denial";
import { carriesErrors } from "./field-names";
import type { Sentence } from "./parse-record";
import { isWholeBody } from "./response-body";
import { codeAnswers } from "./status-codes";
import { isExplanation, hypotheticalFrom } from "./hypothetical";
import { includesAny, indexOfWord, isOpening, isSpaceCode, isWordCode, lowerCase, wordBefore } from "./text";

/** Finds every answer of this kind in a sentence, from left to right. */
export function answersIn({ key, text, body }: Sentence, denial: Denial): Answer[] {
  const lower = lowerCase(text);
  if (isExplanation(lower)) return [];
  const answers = [...wordAnswers(key, text, lower, denial), ...codeAnswers(key, lower, denial)];
  const hypothetical = hypotheticalFrom(lower);
  return answers
    .filter(answer => answer.kind === "bare" || answer.at < hypothetical)
    .map(answer => (answer.kind === "bare" && (body || isWholeBody(key, lower, answer.at)) ? ofBody(answer) : answer));
}

/** The API server's body is a Status object, so any server may have sent the bare word. */
function ofBody(answer: Answer): Answer {
  return { ...answer, kind: "http" };
}

function wordAnswers(key: string, sentence: string, lower: string, denial: Denial): Answer[] {
  const word = lowerCase(denial.word);
  const failing = includesAny(lower, FAILING);
  const found: Answer[] = [];
  for (let at = indexOfWord(lower, word); at >= 0; at = indexOfWord(lower, word, at + word.length)) {
    const end = at + word.length;
    const exact = sentence.startsWith(denial.word, at);
    const kind = kindOf(ofArrow(headOf(key, lower, at, denial), failing), tailOf(lower, end), exact, failing);
    if (kind !== null) found.push({ at, end, kind });
  }
  return found;
}

/** What precedes the word: its number, an error chain, an arrow, other words, or a name that reports nothing. */
type Head = "code" | "chain" | "arrow" | "words" | "name";
/** What follows the word: the end of the statement, the server that was asked, or an explanation. */
type Tail = "end" | "asked" | "words";

/** "GET /path -> Unauthorized" is a status in words; "list failed -> Unauthorized" is the end of a sentence. */
function ofArrow(head: Head, failing: boolean): Exclude<Head, "arrow"> {
  if (head !== "arrow") return head;
  return failing ? "words" : "code";
}

function kindOf(head: Exclude<Head, "arrow">, tail: Tail, exact: boolean, failing: boolean): Answer["kind"] | null {
  if (head === "code") return "http";
  // The API server gives no explanation: "Unauthorized: no basic auth credentials" comes from another service.
  if (head === "name" || tail === "words") return null;
  if (head === "words" && !failing) return null;
  // "Unauthorized from https://...": the named server gave the answer.
  if (tail === "asked") return exact ? "asked" : null;
  // The API server spells its reason with a capital; registries and proxies say "unauthorized".
  return exact ? "bare" : head === "chain" ? "http" : null;
}

/** In a sentence that reports a failure, no colon is needed before the reason. */
const FAILING = [
  "error",
  "fail",
  "unable",
  "could not",
  "couldn't",
  "cannot",
  "can't",
  "refused",
  "lost",
  "fatal",
  "panic",
];
const CHAINING = new Set(":=,;-|>│!]");
/** Words after which the reason is part of a description. */
const DESCRIBING = new Set([
  "is",
  "are",
  "was",
  "be",
  "an",
  "a",
  "the",
  "not",
  "as",
  "for",
  "of",
  "and",
  "or",
  "no",
  "with",
  "to",
]);

function headOf(key: string, lower: string, at: number, denial: Denial): Head {
  let i = at - 1;
  while (i >= 0 && isOpening(lower.charAt(i))) i--;
  if (i < 0) return at > 0 || carriesErrors(key) ? "chain" : "name";
  if (isNamed(lower, i)) return "name";
  if (precededByCode(lower, at, denial)) return "code";
  if (lower.startsWith("->", i - 1)) return "arrow";
  if (CHAINING.has(lower.charAt(i))) return chainOrKey(lower, i);
  return headOfWord(wordBefore(lower, i + 1), lower.slice(i + 1, at));
}

/** Whether the word is only the name of a reason or of something else. */
function isNamed(lower: string, i: number): boolean {
  return isPartOfName(lower, i) || isListedReason(lower, i) || isCompared(lower, i);
}

/** `reason == Unauthorized` */
function isCompared(lower: string, i: number): boolean {
  return lower.charAt(i) === "=" && ["=", "!"].includes(lower.charAt(i - 1));
}

/** `exceptions.Unauthorized`, `Error::Unauthorized`, `LOGIN_UNAUTHORIZED`, `path/unauthorized`. */
function isPartOfName(lower: string, i: number): boolean {
  return [".", "_", "/"].includes(lower.charAt(i)) || lower.startsWith("::", i - 1);
}

/** `Unauthorized, Forbidden`: a list of possible reasons. */
function startsReason(lower: string, comma: number): boolean {
  if (lower.charAt(comma) !== "," && lower.charAt(comma) !== "|") return false;
  const rest = lower.slice(comma + 1, comma + REASON_REACH).trimStart();
  return [...REASONS].some(reason => rest.startsWith(reason));
}

/** Length of the longest reason with the blanks before it. */
const REASON_REACH = 24;

/** `Forbidden, NotFound, Unauthorized` */
function isListedReason(lower: string, i: number): boolean {
  return (lower.charAt(i) === "," || lower.charAt(i) === "|") && REASONS.has(wordBefore(lower, i));
}

const REASONS = new Set([
  ...["forbidden", "notfound", "conflict", "gone", "expired", "badrequest", "invalid", "timeout", "alreadyexists"],
  ...["toomanyrequests", "internalerror", "serviceunavailable", "unknown"],
]);

/** @param between the text between the preceding word and the answer */
function headOfWord(word: string, between: string): Head {
  // "it replied Unauthorized": a status in words.
  if (REPLIED.has(word)) return "code";
  // .NET: invalid status code 'Unauthorized'.
  if (word === "code" && between.endsWith("'")) return "chain";
  return between !== "" && !DESCRIBING.has(word) ? "words" : "name";
}

const REPLIED = new Set(["replied", "replies", "answered", "answers", "responded", "responds", "said", "says"]);

/** `title: Unauthorized` and `description: Unauthorized` document an answer. */
function chainOrKey(lower: string, colon: number): Head {
  const word = wordBefore(lower, colon);
  // "list widgets.shop.example:" ends with a name, not with one of these words.
  return DOCUMENTING.has(word) && lower.charAt(colon - word.length - 1) !== "." ? "name" : "chain";
}

const DOCUMENTING = new Set(["description", "title", "summary", "statustext", "label", "example", "class", "codename"]);

/** `401 Unauthorized`, `401, message='Unauthorized'`, `401 Client Error: Unauthorized`, `(401): Unauthorized`. */
function precededByCode(lower: string, at: number, denial: Denial): boolean {
  const from = Math.max(0, at - CODE_REACH);
  const code = lower.slice(from, at).lastIndexOf(denial.code);
  if (code < 0 || !startsStatusLine(lower, from + code)) return false;
  const between = wordsIn(lower.slice(from + code + denial.code.length, at));
  // "(401) Reason: Unauthorized" is how Kubernetes' generated clients print their exception: a chain, not a status line.
  if (between.includes("reason") && lower.charAt(from + code - 1) === "(") return false;
  return between.every(word => STATUS_LINE_WORDS.has(word));
}

/** Excludes line numbers, process ids and ports, which follow a name directly: `sync.go:401]`, `web[401]`. */
function startsStatusLine(lower: string, code: number): boolean {
  const before = lower.charAt(code - 1);
  if (before === ":" || before === "[") return !isWordCode(lower.charCodeAt(code - 2));
  return !isWordCode(lower.charCodeAt(code - 1)) && before !== "." && before !== "-";
}

/** Words between the number and the reason of a status line. */
const STATUS_LINE_WORDS = new Set(["client", "error", "message", "response", "http", "reason", "phrase"]);

function wordsIn(text: string): string[] {
  const found: string[] = [];
  for (let end = text.length; end > 0; end--) {
    const word = wordBefore(text, end);
    if (word !== "") found.push(word);
    end -= word.length;
  }
  return found;
}

/** Longest distance from a status line's number to its reason. */
const CODE_REACH = 28;

/** Closing quotes and brackets after the word. */
const CLOSING = new Set("\"'`)]}>\\");
const ENDING = new Set(".,;!(|│-[");
/** Words that continue the sentence and not the answer. */
const CONTINUING = [
  "in ",
  "while ",
  "when ",
  "retry",
  "requeu",
  "will ",
  "after ",
  "during ",
  "falling",
  "next ",
  "at ",
];

/** Words before the name of the server that was asked. */
const ASKED = ["from ", "to communicate ", "communicating ", "when communicating ", "calling ", "while calling "];

const GAP = "   ";

/** Returns the offset after closing quotes and brackets at `end`. */
function closedAt(lower: string, end: number): number {
  let i = end;
  while (i < lower.length && CLOSING.has(lower.charAt(i))) i++;
  return i;
}

function tailOf(lower: string, end: number): Tail {
  let i = closedAt(lower, end);
  // A gap separates columns; the next one may hold the line of code.
  if (lower.startsWith(GAP, i)) return "end";
  while (isSpaceCode(lower.charCodeAt(i))) i++;
  if (startsReason(lower, i)) return "words";
  if (i >= lower.length || ENDING.has(lower.charAt(i))) return "end";
  // A requested path is no explanation: Forbidden: "/apis/apps/v1" (get deployments).
  if (lower.startsWith(': "/', i)) return "end";
  if (lower.charAt(i) === ":") return "words";
  if (ASKED.some(w => lower.startsWith(w, i))) return "asked";
  return CONTINUING.some(w => lower.startsWith(w, i)) ? "end" : "words";
}
