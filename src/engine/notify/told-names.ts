/** Names that were told, and since when each no longer has the problem: on the monotonic clock, undefined while it has it. */
export type ToldNames = ReadonlyMap<string, number | undefined>;

export const NO_NAMES: ToldNames = new Map();

/** Returns those names, all of which have the problem, beside others. Pure. */
export function withNames(told: ToldNames, names: readonly string[]): ToldNames {
  return new Map([...told, ...names.map(name => [name, undefined] as const)]);
}

/** Returns the names that still have the problem or have not had it for at most `graceMs`. So the record does not grow for ever. Pure. */
export function stillTold(
  told: ToldNames,
  present: readonly string[],
  { nowMs, graceMs }: { readonly nowMs: number; readonly graceMs: number },
): ToldNames {
  const names = new Set(present);
  const recent = [...told].filter(([, goneMs = nowMs]) => nowMs - goneMs <= graceMs);
  return new Map(recent.map(([name, goneMs = nowMs]) => [name, names.has(name) ? undefined : goneMs]));
}
