import { answersIn, type Answer } from "./answer";
import type { Denial } from "./denial";
import { evidenceIn, type Evidence, type Side } from "./evidence";
import type { Reading } from "./sentences";
import { hasStatusObject } from "./status";
import { includesAny } from "./text";

/** Whether the record reports that the API server denied a request of this process in this way. */
export function isDenied(reading: Reading, denial: Denial): boolean {
  if (includesAny(reading.lower, denial.phrases)) return true;
  if (hasStatusObject(reading.lower, denial)) return true;
  const evidence = new EvidenceOf(reading);
  return reading.sentences.some(({ key, text }, i) =>
    answersIn(key, text, denial).some(answer => isFromApiServer(answer, evidence.near(i, answer))),
  );
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
  const nearest = before.at(-1);
  if (nearest?.side === "other" && nearest.weight === "word") {
    return before.findLast(e => e.weight === "address")?.side ?? "other";
  }
  if (nearest?.side === "noun") return nounSide(before, answer);
  return nearest?.side ?? null;
}

/** A noun stands for the API server unless an address, or for a status line any clearer word, says whose it is. */
function nounSide(before: readonly Evidence[], answer: Answer): Side {
  const clearer = before.findLast(e => e.weight === "address" || (answer.kind === "http" && e.side !== "noun"));
  return clearer?.side ?? "noun";
}
