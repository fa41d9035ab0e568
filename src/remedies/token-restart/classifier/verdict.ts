import { answersIn, type Answer } from "./answer";
import type { Denial } from "./denial";
import { evidenceIn, type Evidence, type Side } from "./evidence";
import type { Reading } from "./sentences";
import { hasStatusObject } from "./status";
import { includesAny } from "./text";

/** Whether the record reports that the API server denied a request of this process in this way. */
export function isDenied(reading: Reading, denial: Denial): boolean {
  if (includesAny(reading.lower, denial.phrases)) return true;
  if (hasStatusObject(reading.text, denial)) return true;
  const evidence = new EvidenceOf(reading);
  return answersOf(reading, denial).some(({ index, answer }) => isFromApiServer(answer, evidence.near(index, answer)));
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

function isFromApiServer(answer: Answer, side: Side | null): boolean {
  // The bare reason is the API server's own word: it takes evidence to doubt it.
  if (answer.kind === "bare") return side !== "other";
  // A status line is everybody's: it takes evidence to believe it.
  return side === "kubernetes";
}

/** Finds who answered: what stands nearest to the answer decides. Each sentence is looked through once. */
class EvidenceOf {
  readonly #found: (readonly Evidence[] | undefined)[] = [];

  constructor(private readonly reading: Reading) {}

  near(index: number, answer: Answer): Side | null {
    const here = this.#in(index);
    const left = decideLeft(here, answer);
    if (left === "kubernetes" || left === "other") return left;
    const right = here.find(e => e.at >= answer.end && e.side !== "noun");
    if (right !== undefined) return right.side;
    if (left === "noun" && answer.kind === "bare") return left;
    return this.#elsewhere(index, answer.kind);
  }

  #in(index: number): readonly Evidence[] {
    return (this.#found[index] ??= evidenceIn(this.reading.sentences[index]?.text ?? ""));
  }

  /** Other sentences of the record, the nearest first; an address in any of them goes before words. */
  #elsewhere(index: number, kind: Answer["kind"]): Side | null {
    const others = this.#others(index);
    const address =
      others.find(e => e.weight === "address") ?? others.find(e => e.side === "kubernetes" && e.weight === "name");
    if (address !== undefined) return address.side;
    // A mere word of another sentence may excuse an answer, but never accuse one.
    const word = others.find(e => e.side !== "noun");
    return word?.side === "kubernetes" && kind === "http" ? null : (word?.side ?? null);
  }

  #cache: { readonly index: number; readonly others: Evidence[] } | undefined;

  #others(index: number): Evidence[] {
    if (this.#cache?.index === index) return this.#cache.others;
    const others: Evidence[] = [];
    for (let i = index - 1; i >= 0; i--) others.push(...this.#in(i).toReversed());
    for (let i = index + 1; i < this.reading.sentences.length; i++) others.push(...this.#in(i));
    this.#cache = { index, others };
    return others;
  }
}

/** The nearest evidence before the answer; an address further left outweighs another service's mere word. */
function decideLeft(evidence: readonly Evidence[], answer: Answer): Side | null {
  const before = evidence.filter(e => e.at < answer.at);
  // An object's name says that it was asked for, not of whom: any other evidence goes before it.
  const nearest = before.findLast(e => !isObjectName(e)) ?? before.at(-1);
  if (nearest === undefined) return null;
  return nearest.side === "kubernetes" || nearest.weight !== "word" ? nearest.side : weighWord(before, nearest, answer);
}

function isObjectName(evidence: Evidence): boolean {
  return evidence.side === "noun" && evidence.weight === "name";
}

/** A word stands for its side unless an address, or before a status line any word that is no noun, says otherwise. */
function weighWord(before: readonly Evidence[], word: Evidence, answer: Answer): Side {
  const seeksClearer = word.side === "noun" && answer.kind === "http";
  const clearer = before.findLast(e => e.weight === "address" || (seeksClearer && e.side !== "noun"));
  return clearer?.side ?? word.side;
}
