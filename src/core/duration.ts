const MS_PER_UNIT = { h: 3_600_000, m: 60_000, s: 1_000 } as const;

/**
 * Returns the milliseconds of a duration of the API: whole numbers with h, m or s, such as `90s`, `15m` or `1h30m`.
 *
 * @throws RangeError for any other text. The API server rejects such values, so this is a bug.
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
  return new RangeError(
    `expected a duration of whole numbers with h, m or s, such as 90s, 15m or 1h30m, got "${text}"`,
  );
}

/** Formats a duration as kubectl prints ages, with at most two units. */
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
