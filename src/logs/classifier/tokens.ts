/** A word, a name or an address of a sentence. */
export interface Token {
  readonly token: string;
  /** Its offset in the sentence. */
  readonly at: number;
  /** Whether it ends a link of an error chain: a colon or the end of the sentence follows. */
  readonly endsLink: boolean;
}

/** Blanks, quotes, brackets and commas separate tokens; a token may contain anything else. */
const SEPARATORS = new Set(" \t\r\n\"'`()[]{}<>,;|\\");
/** Punctuation at a token's edges belongs to the sentence. */
const EDGE = new Set(":.!?=&#");
/** Longer tokens are data such as base64. */
const LONGEST_TOKEN = 2048;

/** Returns the tokens of a sentence, from left to right. */
export function tokensOf(sentence: string): Token[] {
  const tokens: Token[] = [];
  let start = 0;
  for (let i = 0; i <= sentence.length; i++) {
    if (i < sentence.length && !SEPARATORS.has(sentence.charAt(i))) continue;
    if (i > start && i - start <= LONGEST_TOKEN) pushTrimmed(tokens, sentence, start, i);
    start = i + 1;
  }
  return tokens;
}

function pushTrimmed(tokens: Token[], sentence: string, from: number, to: number): void {
  let [start, end] = [from, to];
  while (start < end && EDGE.has(sentence.charAt(start))) start++;
  while (end > start && EDGE.has(sentence.charAt(end - 1))) end--;
  if (end > start)
    tokens.push({
      token: sentence.slice(start, end),
      at: start,
      endsLink: end === sentence.length || sentence.charAt(end) === ":",
    });
}
