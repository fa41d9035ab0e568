import type { Reasons } from "../../core/remedy";

/** Sorts findings worst first, by the order in which the reasons are declared. Findings of one reason keep their order. */
export function worstFirst<Reason extends string, F extends { readonly reason: Reason }>(
  reasons: Reasons<Reason>,
  findings: readonly F[],
): F[] {
  const rank = new Map(Object.keys(reasons).map((reason, index) => [reason, index]));
  const rankOf = ({ reason }: F): number => rank.get(reason) ?? rank.size;
  return findings.toSorted((a, b) => rankOf(a) - rankOf(b));
}
