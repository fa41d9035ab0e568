import { answersIn, type Answer } from "./answer";
import type { Denial } from "./denial";
import { evidenceIn, type Evidence } from "./evidence";
import { carriesName, SERVICE_KEYS } from "./keys";
import type { Reading, Sentence } from "./sentences";
import { hasStatusObject } from "./status";
import { isExplanation } from "./supposition";
import { includesAny, lowerCase } from "./text";

/** Whether the record reports that the API server denied a request of this process in this way. */
export function isDenied(reading: Reading, denial: Denial): boolean {
  if (isExplanation(lowerCase(reading.sentences[0]?.text ?? ""))) return false;
  if (includesAny(reading.lower, denial.phrases)) return true;
  if (hasStatusObject(reading.text, denial)) return true;
  if (isForeignBody(reading, denial)) return false;
  const evidence = new EvidenceOf(reading);
  return answersOf(reading, denial).some(({ index, answer }) => isFromApiServer(answer, evidence.near(index, answer)));
}

/** `{"statusCode":401,"message":"Unauthorized"}`: the body of an answer, and no Status object. Whose it is isn't said. */
function isForeignBody({ sentences }: Reading, denial: Denial): boolean {
  const said = new Set(sentences.map(sentence => sentence.text));
  return said.size === 2 && said.has(denial.code) && said.has(denial.word);
}

/** A record that gives more answers is a list of something; looking at each of them would take quadratic time. */
const MOST_ANSWERS = 32;

/** The answers in a record, with the sentence that each stands in. */
function answersOf(reading: Reading, denial: Denial): { index: number; answer: Answer }[] {
  const found: { index: number; answer: Answer }[] = [];
  for (const [index, { key, text }] of reading.sentences.entries()) {
    for (const answer of answersIn(key, text, denial)) found.push({ index, answer });
    if (found.length >= MOST_ANSWERS) break;
  }
  return found.slice(0, MOST_ANSWERS);
}

function isFromApiServer(answer: Answer, evidence: Evidence | null): boolean {
  // The bare reason is the API server's own word: it takes evidence to doubt it.
  if (answer.kind === "bare") return evidence?.side !== "other";
  // A status line is everybody's: it takes more than a word to believe it.
  return evidence?.side === "kubernetes" && evidence.weight !== "word";
}

/** Finds who answered: what stands nearest to the answer decides. Each sentence is looked through once. */
class EvidenceOf {
  readonly #found: (readonly Evidence[] | undefined)[] = [];

  constructor(private readonly reading: Reading) {}

  near(index: number, answer: Answer): Evidence | null {
    const here = this.#in(index);
    const left = nearestBefore(here, answer);
    const right = nearestAfter(here, answer, left);
    if (answer.kind === "asked" && right !== undefined) return right;
    if (left !== null && left.side !== "noun" && !outweighs(right, left)) return left;
    if (right !== undefined) return right;
    return left !== null && answer.kind === "bare" ? left : this.#elsewhere(index);
  }

  #in(index: number): readonly Evidence[] {
    return (this.#found[index] ??= evidenceOf(this.reading.sentences[index]));
  }

  /** Other sentences of the record: an address in any of them, else the nearest that speaks for somebody. */
  #elsewhere(index: number): Evidence | null {
    let nearest: Evidence | null = null;
    for (const sentence of this.#order(index)) {
      const found = this.#in(sentence);
      const address = found.findLast(e => e.weight === "address");
      if (address !== undefined) return address;
      nearest ??= found.findLast(e => e.side !== "noun") ?? null;
    }
    return nearest ?? this.#thrower();
  }

  /** Whose code threw the error: a frame says so where nothing else does. */
  #thrower(): Evidence | null {
    return evidenceIn(this.reading.thrower).find(isClear) ?? null;
  }

  /** The sentences before this one, the nearest first, then those after it. */
  *#order(index: number): Generator<number> {
    for (let i = index - 1; i >= 0; i--) yield i;
    for (let i = index + 1; i < this.reading.sentences.length; i++) yield i;
  }
}

function evidenceOf(sentence: Sentence | undefined): readonly Evidence[] {
  if (sentence === undefined) return [];
  const { key, text } = sentence;
  const found = evidenceIn(text);
  if (SERVICE_KEYS.has(key)) return found.length > 0 ? found : [{ at: 0, side: "other", weight: "word" }];
  // rollout=checkout, eventSource=minio: what a thing is called says of nobody that it was asked.
  return carriesName(key, text) ? found.filter(e => e.weight === "address" || e.side !== "other") : found;
}

/** The nearest evidence before the answer; an address further left outweighs another service's mere word. */
function nearestBefore(evidence: readonly Evidence[], answer: Answer): Evidence | null {
  const before = evidence.filter(e => e.at < answer.at);
  // An object's name says that it was asked for, not of whom: any other evidence goes before it.
  const nearest = before.findLast(e => !isObjectName(e)) ?? before.at(-1);
  if (nearest === undefined) return null;
  if (nearest.side === "kubernetes" && nearest.weight === "word") return strongest(before) ?? nearest;
  if (nearest.side === "kubernetes" || nearest.weight !== "word") return nearest;
  // Nor does a noun say of whom, before a status line.
  const seeksClearer = nearest.side === "noun" && answer.kind === "http";
  return before.findLast(e => e.weight === "address" || (seeksClearer && e.side !== "noun")) ?? nearest;
}

/** The nearest evidence behind the answer; where nothing but a word stands before it, an address if there is any. */
function nearestAfter(evidence: readonly Evidence[], answer: Answer, left: Evidence | null): Evidence | undefined {
  const after = evidence.filter(e => e.at >= answer.end && e.side !== "noun");
  const address = left?.weight === "word" || left === null ? after.find(e => e.weight === "address") : undefined;
  return address ?? after[0];
}

/** "upstream answered 401 for https://...": the address that was asked outweighs a word before the answer. */
function outweighs(right: Evidence | undefined, left: Evidence): boolean {
  return right?.weight === "address" && left.weight === "word";
}

/** "kubernetes: could not read pod web": the clearest of what was said of the API server since another was named. */
function strongest(before: readonly Evidence[]): Evidence | undefined {
  return before.slice(before.findLastIndex(e => e.side === "other") + 1).findLast(isClear);
}

function isClear(evidence: Evidence): boolean {
  return evidence.side === "kubernetes" && evidence.weight !== "word";
}

function isObjectName(evidence: Evidence): boolean {
  return evidence.side === "noun" && evidence.weight === "name";
}
