/**
 * Largest difference, in milliseconds, between a timestamp that the API server wrote and the operator's own record of the same
 * moment: clocks of a cluster's nodes are synchronized.
 */
export const CLOCK_SKEW_MS = 5_000;

/** Formats a time as metav1.Time: RFC 3339 in whole seconds, rounded down. */
export function toSeconds(time: Date): string {
  return new Date(Math.floor(time.getTime() / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/** Formats a time as metav1.MicroTime: RFC 3339 with six digits. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
