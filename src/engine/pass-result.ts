import { ConflictError, GoneError } from "../core/errors";
import type { Execution } from "../core/intent";
import type { Decision } from "../core/remedy";
import { retryAfter, type Retry } from "./judge";

/** What to do with a key after its pass. */
export type PassResult =
  /** The object is gone. */
  | { readonly next: "forget" }
  /** All is said: again after that time, or when something changes, or with the timed pass. */
  | { readonly next: "recheck"; readonly afterMs?: number }
  /** The API server asked for patience. */
  | { readonly next: "wait"; readonly afterMs: number }
  /** Something failed that may succeed next time: again with backoff. */
  | { readonly next: "retry"; readonly conflict: boolean }
  /** Trying again changes nothing: when something changes, or with the timed pass. */
  | { readonly next: "give-up" };

/** After an error of the pass itself. */
export function nextOf(error: unknown): PassResult {
  const retry = retryAfter(error);
  if (retry === undefined) return { next: "give-up" };
  if (retry.kind === "wait") return { next: "wait", afterMs: retry.afterMs };
  return { next: "retry", conflict: error instanceof ConflictError || error instanceof GoneError };
}

/** What one remedy wishes after its turn. */
export interface Wish {
  readonly decision: Pick<Decision, "recheckAfterMs">;
  readonly retry?: Retry;
}

/** The most urgent wish of all remedies and outcomes. */
export function nextAfter(parts: readonly Wish[], executions: readonly Execution[]): PassResult {
  const results = executions.map(({ outcome }) => outcome.result);
  const retries = parts.map(({ retry }) => retry);
  if (results.includes("Failed") || retries.some(retry => retry?.kind === "backoff")) {
    return { next: "retry", conflict: false };
  }
  if (results.includes("Conflict")) return { next: "retry", conflict: true };
  const times = [
    ...parts.map(({ decision }) => decision.recheckAfterMs),
    ...executions.map(({ outcome }) => ("retryAfterMs" in outcome ? outcome.retryAfterMs : undefined)),
    ...retries.map(retry => (retry?.kind === "wait" ? retry.afterMs : undefined)),
  ].filter(time => time !== undefined && Number.isFinite(time));
  if (times.length === 0) return { next: "recheck" };
  return { next: "recheck", afterMs: Math.max(0, Math.min(...times.map(Number))) };
}
