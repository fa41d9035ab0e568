/** The kinds that the operator watches, by their API names. */
export const KINDS = [
  "controllerresiliences",
  "pods",
  "serviceaccounts",
  "rolebindings",
  "clusterrolebindings",
  "events",
] as const;

/** One of them. */
export type Kind = (typeof KINDS)[number];

/** One line per object: its actual state, or the state that the operator acted on. */
export type Picture = Readonly<Record<Kind, readonly string[]>>;

/** Changes that the operator has not acted on, one sentence for each kind whose two views differ. Pure. */
export function missed(truth: Picture, acted: Picture): string[] {
  return KINDS.flatMap(kind => {
    const [unseen, imagined] = [without(truth[kind], acted[kind]), without(acted[kind], truth[kind])];
    if (unseen.length + imagined.length === 0) return [];
    return [`${kind}: not acted on ${listOf(unseen)}; still acted on ${listOf(imagined)}`];
  });
}

function without(lines: readonly string[], others: readonly string[]): string[] {
  return lines.filter(line => !others.includes(line));
}

function listOf(lines: readonly string[]): string {
  return lines.length === 0 ? "nothing" : lines.join(", ");
}
