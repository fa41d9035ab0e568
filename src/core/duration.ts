const MS_PER_UNIT = { h: 3_600_000, m: 60_000, s: 1_000 } as const;

/**
 * Milliseconds of a duration as the API's schema allows it: whole numbers with h, m or s, such as `90s`, `15m` or `1h30m`.
 *
 * @throws RangeError when the text is none; the schema has refused such a value before, so this is a bug.
 */
export function parseDuration(text: string): number {
  let totalMs = 0;
  let digits = "";
  for (const char of text) {
    if (char >= "0" && char <= "9") {
      digits += char;
      continue;
    }
    if (digits === "" || !(char in MS_PER_UNIT)) throw invalid(text);
    totalMs += Number(digits) * MS_PER_UNIT[char as keyof typeof MS_PER_UNIT];
    digits = "";
  }
  if (text === "" || digits !== "") throw invalid(text);
  return totalMs;
}

function invalid(text: string): RangeError {
  return new RangeError(`found duration "${text}", expected whole numbers with h, m or s, such as 90s, 15m or 1h30m`);
}

/** A duration for people, as kubectl prints ages: the two largest units at most. */
export function formatDuration(ms: number): string {
  const totalSeconds = Math.max(0, Math.round(ms / 1000));
  const units: [number, string][] = [
    [Math.floor(totalSeconds / 86_400), "d"],
    [Math.floor(totalSeconds / 3_600) % 24, "h"],
    [Math.floor(totalSeconds / 60) % 60, "m"],
    [totalSeconds % 60, "s"],
  ];
  const first = units.findIndex(([amount]) => amount > 0);
  if (first < 0) return "0s";
  return units
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
}
