/** Returns a finding when it applies. Its name states what it found: `serviceAccountMissing`, `blockedByBudget`. */
export type Check<Facts, Result> = (facts: Facts) => Result | undefined;

/** The result of the first check that applies; undefined when none does. */
export function firstMatch<Facts, Result>(checks: readonly Check<Facts, Result>[], facts: Facts): Result | undefined {
  for (const check of checks) {
    const result = check(facts);
    if (result !== undefined) return result;
  }
  return undefined;
}
