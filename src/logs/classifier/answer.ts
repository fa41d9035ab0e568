import type { Denial } from "./denial";
import { carriesErrors } from "./keys";
import { codeAnswers } from "./status-line";
import { isExplanation, supposedFrom } from "./supposition";
import { includesAny, indexOfWord, isSpaceCode, isWordCode, lowerCase, wordBefore } from "./text";

/**
 * A place in a sentence where somebody's request was denied.
 * - `bare`: the API server's whole answer as the end of a chain of errors. It is the API server's unless something says otherwise.
 * - `http`: a status that any HTTP server gives. It is the API server's only if something says so.
 * - `asked`: the words behind it name whoever gave it.
 */
export interface Answer {
  readonly at: number;
  readonly end: number;
  readonly kind: "bare" | "http" | "asked";
}

/** Every answer of this kind in a sentence, in order. */
export function answersIn(key: string, sentence: string, denial: Denial): Answer[] {
  const lower = lowerCase(sentence);
  if (isExplanation(lower)) return [];
  const answers = [...wordAnswers(key, sentence, lower, denial), ...codeAnswers(key, lower, denial)];
  const supposed = supposedFrom(lower);
  return answers.filter(answer => answer.kind === "bare" || answer.at < supposed);
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

/** What leads up to the word: its number, a chain of errors, an arrow, other words, or nothing that reports it. */
type Head = "code" | "chain" | "arrow" | "words" | "name";
/** What comes after the word: the end of the statement, who was asked, or an explanation. */
type Tail = "end" | "asked" | "words";

/** "GET /path -> Unauthorized" is a status in words; "list failed -> Unauthorized" goes on with a story. */
function ofArrow(head: Head, failing: boolean): Exclude<Head, "arrow"> {
  if (head !== "arrow") return head;
  return failing ? "words" : "code";
}

function kindOf(head: Exclude<Head, "arrow">, tail: Tail, exact: boolean, failing: boolean): Answer["kind"] | null {
  if (head === "code") return "http";
  // The API server explains nothing: "Unauthorized: no basic auth credentials" is somebody else's.
  if (head === "name" || tail === "words") return null;
  if (head === "words" && !failing) return null;
  // "Unauthorized from https://...": whoever is named there gave the answer.
  if (tail === "asked") return exact ? "asked" : null;
  // Its reason is spelled with a capital; registries and proxies say "unauthorized".
  return exact ? "bare" : head === "chain" ? "http" : null;
}

/** A sentence that reports a failure may end in the reason without a colon. */
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
/** Opening quotes and brackets between the chain and the word. */
const OPENING = new Set("\"'`([{< \t");
const CHAINING = new Set(":=,;-|>│!]");
/** Words between an article and a full stop describe; they report no answer. */
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
  while (i >= 0 && OPENING.has(lower.charAt(i))) i--;
  if (i < 0) return at > 0 || carriesErrors(key) ? "chain" : "name";
  if (isNamed(lower, i)) return "name";
  if (precededByCode(lower, at, denial)) return "code";
  if (lower.startsWith("->", i - 1)) return "arrow";
  if (CHAINING.has(lower.charAt(i))) return chainOrKey(lower, i);
  return headOfWord(wordBefore(lower, i + 1), lower.slice(i + 1, at));
}

/** Whether the word only names a reason, which nobody gave. */
function isNamed(lower: string, i: number): boolean {
  return isPartOfName(lower, i) || isListedReason(lower, i) || isCompared(lower, i);
}

/** `reason == Unauthorized` */
function isCompared(lower: string, i: number): boolean {
  return lower.charAt(i) === "=" && ["=", "!"].includes(lower.charAt(i - 1));
}

/** `exceptions.Unauthorized`, `Error::Unauthorized`, `LOGIN_UNAUTHORIZED`, `path/unauthorized`: the name of something. */
function isPartOfName(lower: string, i: number): boolean {
  return [".", "_", "/"].includes(lower.charAt(i)) || lower.startsWith("::", i - 1);
}

/** `Unauthorized, Forbidden`: what there is to answer, nobody's answer. */
function startsReason(lower: string, comma: number): boolean {
  if (lower.charAt(comma) !== "," && lower.charAt(comma) !== "|") return false;
  const rest = lower.slice(comma + 1, comma + REASON_REACH).trimStart();
  return [...REASONS].some(reason => rest.startsWith(reason));
}

/** The longest reason and the blanks before it. */
const REASON_REACH = 24;

/** `Forbidden, NotFound, Unauthorized` */
function isListedReason(lower: string, i: number): boolean {
  return (lower.charAt(i) === "," || lower.charAt(i) === "|") && REASONS.has(wordBefore(lower, i));
}

const REASONS = new Set([
  ...["forbidden", "notfound", "conflict", "gone", "expired", "badrequest", "invalid", "timeout", "alreadyexists"],
  ...["toomanyrequests", "internalerror", "serviceunavailable", "unknown"],
]);

/** @param between what stands between the word before and the answer */
function headOfWord(word: string, between: string): Head {
  // "it replied Unauthorized": a status in words, and somebody's who stands before.
  if (REPLIED.has(word)) return "code";
  // .NET: invalid status code 'Unauthorized'.
  if (word === "code" && between.endsWith("'")) return "chain";
  return between !== "" && !DESCRIBING.has(word) ? "words" : "name";
}

const REPLIED = new Set(["replied", "replies", "answered", "answers", "responded", "responds", "said", "says"]);

/** `title: Unauthorized` and `description: Unauthorized` document an answer; they don't give one. */
function chainOrKey(lower: string, colon: number): Head {
  const word = wordBefore(lower, colon);
  // "list widgets.shop.example:" is a name.
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

/** The number of a line of code, a process or a port sticks to a name: `sync.go:401]`, `web[401]`. */
function startsStatusLine(lower: string, code: number): boolean {
  const before = lower.charAt(code - 1);
  if (before === ":" || before === "[") return !isWordCode(lower.charCodeAt(code - 2));
  return !isWordCode(lower.charCodeAt(code - 1)) && before !== "." && before !== "-";
}

/** What stands between a status line's number and its reason. */
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

/** As far as a status line's number stands before its word. */
const CODE_REACH = 28;

/** Closing quotes and brackets after the word. */
const CLOSING = new Set("\"'`)]}>\\");
const ENDING = new Set(".,;!(|│-[");
/** Words that go on with the story, not with the answer. */
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

/** Words that lead to whoever was asked. */
const ASKED = ["from ", "to communicate ", "communicating ", "when communicating ", "calling ", "while calling "];

const GAP = "   ";

/** Behind the quotes and brackets that close at `end`. */
function closedAt(lower: string, end: number): number {
  let i = end;
  while (i < lower.length && CLOSING.has(lower.charAt(i))) i++;
  return i;
}

function tailOf(lower: string, end: number): Tail {
  let i = closedAt(lower, end);
  // Behind a gap stands another column, such as the line of code.
  if (lower.startsWith(GAP, i)) return "end";
  while (isSpaceCode(lower.charCodeAt(i))) i++;
  if (startsReason(lower, i)) return "words";
  if (i >= lower.length || ENDING.has(lower.charAt(i))) return "end";
  // The path that was asked for is no explanation: Forbidden: "/apis/apps/v1" (get deployments).
  if (lower.startsWith(': "/', i)) return "end";
  if (lower.charAt(i) === ":") return "words";
  if (ASKED.some(w => lower.startsWith(w, i))) return "asked";
  return CONTINUING.some(w => lower.startsWith(w, i)) ? "end" : "words";
}
