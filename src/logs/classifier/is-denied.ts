import { type Answer, type Denial, hasStatusObject } from "./status-codes";
import { type Evidence, evidenceIn, isKubernetesProvider, withoutProvider } from "./evidence";
import { carriesName, SERVICE_KEYS } from "./vocabulary";
import { answersIn, isExplanation } from "./answers";
import type { ParsedRecord, Sentence } from "./parse-record";
import { includesAny, lowerCase } from "./text";

/** Whether the API server denied a request of this process, as the record reports it. */
export function isDenied(record: ParsedRecord, denial: Denial): boolean {
  if (isExplanation(lowerCase(record.sentences[0]?.text ?? ""))) return false;
  if (includesAny(record.lower, denial.phrases)) return true;
  if (hasStatusObject(record.text, denial)) return true;
  if (isRefusedUpgrade(record.lower, denial)) return true;
  if (isBodyOnly(record, denial)) return false;
  const evidence = new EvidenceFinder(record);
  return answersOf(record, denial).some(({ index, answer }) => isFromApiServer(answer, evidence.near(index, answer)));
}

/** fabric8 watches through a WebSocket. OkHttp reports the refused upgrade, and only the logger or a frame names fabric8. */
function isRefusedUpgrade(lower: string, { code, word }: Denial): boolean {
  return (
    lower.includes(`expected http 101 response but was '${code} ${lowerCase(word)}'`) && includesAny(lower, FABRIC8)
  );
}

/** fabric8's package in full, and as Logback and JBoss shorten it. */
const FABRIC8 = ["io.fabric8.kubernetes", " i.f.k", "[i.f.k", "io.fab.kub."];

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
    if (answer.kind === "asked" && right !== undefined) return right;
    if (left !== null && left.side !== "noun" && !outweighs(right, left)) return left;
    if (right !== undefined) return right;
    return left ?? this.#elsewhere(index);
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
    return nearest === null || isHint(nearest) ? (this.#thrower() ?? nearest) : nearest;
  }

  /** Evidence in the stack frame that threw the error, the last resort. */
  #thrower(): Evidence | null {
    return evidenceIn(this.record.thrower).find(isClear) ?? null;
  }

  /** Indexes of the sentences before this one, nearest first, then of those after it. */
  *#order(index: number): Generator<number> {
    for (let i = index - 1; i >= 0; i--) yield i;
    for (let i = index + 1; i < this.record.sentences.length; i++) yield i;
  }
}

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

function isHint(evidence: Evidence): boolean {
  return evidence.side === "kubernetes" && evidence.weight === "word";
}

function isClear(evidence: Evidence): boolean {
  return evidence.side === "kubernetes" && evidence.weight !== "word";
}
