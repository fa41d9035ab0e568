/** Returns an amount with its noun, such as `1 pod` or `3 pods`. */
export function count(amount: number, noun: string): string {
  return `${String(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}

/** Returns the first names of a list and how many are left, such as `a, b and 3 more`; all names if they are not more than `most`. */
export function firstOf(names: readonly string[], most: number): string {
  const left = names.length - most;
  return `${names.slice(0, most).join(", ")}${left > 0 ? ` and ${String(left)} more` : ""}`;
}
