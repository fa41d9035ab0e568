import { type Evidence, evidenceIn, isKubernetesProvider, withoutProvider } from "./evidence";
import type { ParsedRecord, Sentence } from "./parse-record";
import { isWholeBody } from "./response-body";
import { type Answer, codeAnswers, type Denial, FAILING, hasStatusObject } from "./status-codes";
import { includesAny, indexOfWord, isOpening, isSpaceCode, isWordCode, lowerCase, phrases, wordBefore } from "./text";
import { carriesErrors, carriesName, SERVICE_KEYS } from "./vocabulary";

/** Whether the API server denied a request of this process, as the record reports it. */
export function isDenied(record: ParsedRecord, denial: Denial): boolean {
  if (isExplanation(lowerCase(record.sentences[0]?.text ?? ""))) return false;
  if (includesAny(record.lower, denial.phrases)) return true;
  if (hasStatusObject(record.text, denial)) return true;
  if (isBodyOnly(record, denial)) return false;
  const evidence = new EvidenceFinder(record);
  // A status line and its body are one answer, and any server gives a status line.
  const isHttp = includesAny(
    record.lower,
    [" ", ": ", " ("].map(gap => denial.code + gap + lowerCase(denial.word)),
  );
  return answersOf(record, denial).some(({ index, answer }) =>
    isFromApiServer(isHttp ? ofBody(answer) : answer, evidence.near(index, answer)),
  );
}

/**
 * `Kubernetes API authentication failure`, `Kubernetes API authorization failure, check the token`: paraphrases of 401, since a token has
 * nothing to do with a 403. With more words, or beside a caller's name, the process explains what it did to a client.
 */
export function isRejectedToken({ lower }: ParsedRecord): boolean {
  if (CALLERS.some(word => indexOfWord(lower, word) >= 0)) return false;
  return REJECTED_TOKEN.some(phrase => {
    const at = lower.indexOf(phrase);
    if (at < 0 || tailOf(lower, at + phrase.length) !== "end") return false;
    return !phrase.includes("authorization") || lower.includes("token");
  });
}

const CALLERS = ["user", "client", "caller"];
const REJECTED_TOKEN = [
  "authentication failed",
  "authentication failure",
  "authorization failed",
  "authorization failure",
].map(failure => `kubernetes api ${failure}`);

/** `{"statusCode":401,"message":"Unauthorized"}`: the body of an answer that is no Status object. It may be any server's. */
function isBodyOnly({ sentences }: ParsedRecord, denial: Denial): boolean {
  const texts = new Set(sentences.map(sentence => sentence.text));
  return texts.size === 2 && texts.has(denial.code) && texts.has(denial.word);
}

/** Limit that keeps the time linear; a record with more answers is a list of something. */
const MOST_ANSWERS = 32;

/** Finds the answers in a record, each with the index of its sentence. */
function answersOf(record: ParsedRecord, denial: Denial): { index: number; answer: Answer }[] {
  const found: { index: number; answer: Answer }[] = [];
  for (const [index, sentence] of record.sentences.entries()) {
    for (const answer of answersIn(sentence, denial)) found.push({ index, answer });
    if (found.length >= MOST_ANSWERS) break;
  }
  return found.slice(0, MOST_ANSWERS);
}

function isFromApiServer(answer: Answer, evidence: Evidence | null): boolean {
  // The bare reason is the API server's wording, so only evidence for another service excludes it.
  if (answer.kind === "bare") return evidence?.side !== "other";
  // Any server sends a status line, so this needs more than a word of evidence.
  return evidence?.side === "kubernetes" && evidence.weight !== "word";
}

/** Finds the server that gave an answer: the nearest evidence decides. Searches each sentence once. */
class EvidenceFinder {
  readonly #found: (readonly Evidence[] | undefined)[] = [];

  readonly #isProvider: boolean;

  constructor(private readonly record: ParsedRecord) {
    this.#isProvider = isKubernetesProvider(record);
  }

  near(index: number, answer: Answer): Evidence | null {
    const here = this.#in(index);
    const left = nearestBefore(here, answer);
    const right = nearestAfter(here, answer, left);
    if (left !== null && left.side !== "noun" && !outweighs(right, left)) return left;
    if (right !== undefined) return right;
    // A noun does not say who sent a status, so any other evidence counts.
    return answer.kind === "bare" && left !== null ? left : this.#elsewhere(index);
  }

  #in(index: number): readonly Evidence[] {
    return (this.#found[index] ??= this.#read(this.record.sentences[index]));
  }

  #read(sentence: Sentence | undefined): readonly Evidence[] {
    const found = evidenceOf(sentence);
    return this.#isProvider ? withoutProvider(sentence?.text ?? "", found) : found;
  }

  /** Searches the other sentences: an address in any of them, otherwise the nearest evidence for a server. */
  #elsewhere(index: number): Evidence | null {
    let nearest: Evidence | null = null;
    for (const sentence of this.#order(index)) {
      const found = this.#in(sentence);
      const address = found.findLast(e => e.weight === "address");
      if (address !== undefined) return address;
      nearest ??= found.findLast(e => e.side !== "noun") ?? null;
    }
    // A word for a kind only hints at the server; the code that threw the error is clearer.
    return nearest?.side === "other" || isClear(nearest) ? nearest : (this.#thrower() ?? nearest);
  }

  /** Evidence in the stack frame that threw the error, or in the logger of a client library: the last resort. */
  #thrower(): Evidence | null {
    const isClient = includesAny(this.record.lower, FABRIC8);
    return evidenceIn(isClient ? FABRIC8[0] : this.record.thrower).find(isClear) ?? null;
  }

  /** Indexes of the sentences before this one, nearest first, then of those after it. */
  *#order(index: number): Generator<number> {
    for (let i = index - 1; i >= 0; i--) yield i;
    for (let i = index + 1; i < this.record.sentences.length; i++) yield i;
  }
}

/** fabric8's package in full, and as Logback and JBoss shorten it. */
const FABRIC8 = ["io.fabric8.kubernetes", " i.f.k", "[i.f.k", "io.fab.kub."] as const;

function evidenceOf(sentence: Sentence | undefined): readonly Evidence[] {
  if (sentence === undefined) return [];
  const { key, text } = sentence;
  const found = evidenceIn(text);
  if (SERVICE_KEYS.has(key)) return found.length > 0 ? found : [{ at: 0, side: "other", weight: "word" }];
  // rollout=checkout, eventSource=minio: the name of an object does not say which server was asked.
  return carriesName(key, text) ? found.filter(e => e.weight === "address") : found;
}

/** The clearest evidence before the answer, or the nearest. */
function nearestBefore(evidence: readonly Evidence[], answer: Answer): Evidence | null {
  const before = evidence.filter(e => e.at < answer.at);
  return strongest(before) ?? before.at(-1) ?? null;
}

/** The nearest evidence after the answer; if at most a word precedes the answer, an address has precedence. */
function nearestAfter(evidence: readonly Evidence[], answer: Answer, left: Evidence | null): Evidence | undefined {
  const after = evidence.filter(e => e.at >= answer.end && e.side !== "noun");
  const address = left?.weight === "word" || left === null ? after.find(e => e.weight === "address") : undefined;
  return address ?? after[0];
}

/** "upstream answered 401 for https://...": an address outweighs a word before the answer. */
function outweighs(right: Evidence | undefined, left: Evidence): boolean {
  return right?.weight === "address" && left.weight === "word";
}

/** "kubernetes: could not read pod web": the clearest evidence for the API server after the last other service. */
function strongest(before: readonly Evidence[]): Evidence | undefined {
  return before.slice(before.findLastIndex(e => e.side === "other") + 1).findLast(isClear);
}

function isClear(evidence: Evidence | null): boolean {
  return evidence?.side === "kubernetes" && evidence.weight !== "word";
}

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
  const reporting = reportingOf(lower);
  const found: Answer[] = [];
  for (let at = indexOfWord(lower, word); at >= 0; at = indexOfWord(lower, word, at + word.length)) {
    const end = at + word.length;
    const exact = sentence.startsWith(denial.word, at);
    const tail = tailOf(lower, end);
    const kind = kindOf(headOf(key, lower, at, denial), tail, exact, reporting);
    // What precedes the word says nothing about a server that is named after it.
    if (kind !== null) found.push({ at: tail === "asked" ? 0 : at, end, kind });
  }
  return found;
}

/** What precedes the word: its number or an arrow, an error chain, other words, or a name that reports nothing. */
type Head = "code" | "chain" | "words" | "name";
/** What follows the word: the end of the statement, the server that was asked, or an explanation. */
type Tail = "end" | "asked" | "words";

/** What a sentence reports besides the word. */
type Reporting = "failure" | "requeue" | "nothing";

function reportingOf(lower: string): Reporting {
  if (includesAny(lower, FAILING)) return "failure";
  // Every queue adds its items again, so the server that was asked must be named.
  return includesAny(lower, ["requeu", "re-queu"]) ? "requeue" : "nothing";
}

function kindOf(head: Head, tail: Tail, exact: boolean, reporting: Reporting): Answer["kind"] | null {
  if (head === "code") return "http";
  // The API server spells its reason with a capital; registries and proxies say "unauthorized".
  // It gives no explanation: "Unauthorized: no basic auth credentials" comes from another service.
  if (!exact || head === "name" || tail === "words") return null;
  if (tail === "asked" || reporting === "requeue") return "http";
  return head === "words" && reporting === "nothing" ? null : "bare";
}

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
  if (NAMING.has(lower.slice(i - 1, i + 1)) || isListed(lower, i, at + denial.word.length)) return "name";
  if (precededByCode(lower, at, denial)) return "code";
  if (CHAINING.has(lower.charAt(i))) return chainOrKey(lower, i);
  return headOfWord(wordBefore(lower, i + 1), lower.slice(i + 1, at));
}

/** `reason == Unauthorized`, `Error::Unauthorized`: the word is only the name of a reason. */
const NAMING = new Set(["==", "!=", "::"]);

/** `Forbidden, NotFound, Unauthorized`: a list of possible reasons. */
function isListed(lower: string, before: number, end: number): boolean {
  if (lower.charAt(before) === "," && REASONS.includes(wordBefore(lower, before))) return true;
  return lower.charAt(end) === "," && REASONS.some(reason => lower.startsWith(reason, end + 2));
}

const REASONS = [
  ...["forbidden", "notfound", "conflict", "gone", "expired", "badrequest", "invalid", "timeout", "alreadyexists"],
  ...["toomanyrequests", "internalerror", "serviceunavailable", "unknown", "unauthorized"],
];

/** @param between the text between the preceding word and the answer */
function headOfWord(word: string, between: string): Head {
  // "it replied Unauthorized", "Exception 'Unauthorized' encountered": a status in words.
  if (REPLIED.has(word) || (word === "exception" && between.endsWith("'"))) return "code";
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

/** `-> Unauthorized`, `401 Unauthorized`, `401, message='Unauthorized'`, `401 Client Error: Unauthorized`, `(401): Unauthorized`. */
function precededByCode(lower: string, at: number, denial: Denial): boolean {
  const before = lower.slice(Math.max(0, at - CODE_REACH), at);
  if (before.trimEnd().endsWith("->")) return true;
  const code = before.lastIndexOf(denial.code);
  if (code < 0 || isLineOfCode(before, code)) return false;
  const between = before.slice(code + denial.code.length).split(/\W+/);
  return between.every(word => word === "" || STATUS_LINE_WORDS.has(word));
}

/** `sync.go:401]`, `web[401]`: a line number or a process id follows a name directly. */
function isLineOfCode(text: string, at: number): boolean {
  return ":[".includes(text.charAt(at - 1)) && isWordCode(text.charCodeAt(at - 2));
}

/** Words between the number and the reason of a status line. */
const STATUS_LINE_WORDS = new Set(["client", "error", "message", "response", "http", "reason", "phrase"]);

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
const ASKING = phrases(
  "to communicate , communicating , when communicating , while communicating , calling , when calling , while calling ",
);

const GAP = "   ";

function tailOf(lower: string, end: number): Tail {
  let i = end;
  while (CLOSING.has(lower.charAt(i))) i++;
  // A gap separates columns; the next one may hold the line of code.
  if (lower.startsWith(GAP, i)) return "end";
  while (isSpaceCode(lower.charCodeAt(i))) i++;
  // Some formatters print a line break with the wrong slash: 'Unauthorized'/n   at ...
  if (i >= lower.length || ENDING.has(lower.charAt(i)) || lower.startsWith("/n ", i)) return "end";
  // A requested path is no explanation: Forbidden: "/apis/apps/v1" (get deployments).
  if (lower.startsWith(': "/', i)) return "end";
  if (ASKING.some(w => lower.startsWith(w, i))) return "asked";
  return CONTINUING.some(w => lower.startsWith(w, i)) ? "end" : "words";
}

// Help texts, comments and hints mention denials that may happen. They report none.

/** Whether a sentence is an explanation: a comment, a flag of a command, a hint, or a test that expected the denial. */
export function isExplanation(lower: string): boolean {
  if (lower.startsWith("--")) return isWordCode(lower.charCodeAt(2));
  return lower.includes(" as expected") || LABELS.some(label => lower.startsWith(label));
}

/** Comment marks, marks that test runners print before a passed test, and words before an explanation. */
const LABELS = [
  ...["# ", "## ", "; ", "// ", "✓", "✔", "√"],
  ...phrases("hint:, note:, tip:, help:, usage:, troubleshooting:, example:, faq:, q:, todo:, see also, known issue:"),
  ...phrases("if you , if the , when you see , what to do if"),
];

/**
 * Returns the offset from which a sentence is hypothetical or negative: "exit if the API server returns 401". Infinity if it is neither, or
 * if a failure precedes that part ("failed to check if ...").
 */
function hypotheticalFrom(lower: string): number {
  const start = Math.min(...HYPOTHETICAL.map(marker => offsetOf(lower, marker)));
  return [...FAILING, "exception"].some(word => offsetOf(lower, word) < start) ? Infinity : start;
}

function offsetOf(lower: string, marker: string): number {
  const at = lower.indexOf(marker);
  return at < 0 ? Infinity : at;
}

const HYPOTHETICAL = [
  ...phrases(
    " if , unless , whenever , when the , such as , e.g. , for example, would , might , expected 401, expecting 401, wants 401",
  ),
  ...phrases(
    " on 401, no 401, without 401, not 401, never 401, ignore 401, treat 401, treats 401, without a token, simulated , simulating ",
  ),
];
