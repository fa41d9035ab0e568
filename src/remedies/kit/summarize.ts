/** Sentences that one message tells; a person reads no more of them. */
const MOST = 5;

/** A message of the first few sentences, the worst of which come first; `ofTheRest` says what there is to say of however many are left. */
export function joinSentences(sentences: readonly string[], ofTheRest: (count: number) => string): string {
  const shown = sentences.slice(0, MOST);
  const rest = sentences.length - shown.length;
  return [...shown, ...(rest > 0 ? [ofTheRest(rest)] : [])].join(" ");
}
