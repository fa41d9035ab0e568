import { type Marked } from "../convention";

/** The creation of the bindings in tests: 2025-01-02T03:04:05Z. */
export const CREATED_MS = Date.UTC(2025, 0, 2, 3, 4, 5);

/** A binding created at CREATED_MS with these labels and annotations. */
export function marked(marks: Partial<Marked>): Marked {
  return { createdAtMs: CREATED_MS, labels: {}, annotations: {}, ...marks };
}

/** A reading in short: the time in ISO 8601, `never`, `malformed`, or null. */
export function inShort(reading: { kind: string; atMs?: number } | null): string | null {
  return reading?.atMs === undefined ? (reading?.kind ?? null) : new Date(reading.atMs).toISOString();
}
