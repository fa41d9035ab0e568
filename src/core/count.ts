/** Returns an amount with its noun, such as `1 pod` or `3 pods`. */
export function count(amount: number, noun: string): string {
  return `${String(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}
