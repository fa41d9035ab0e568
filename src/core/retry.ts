import { TerminalError, WaitError } from "./errors";

/** How to retry after a failure: with backoff, or after the delay that the API server asked for. */
export type Retry = { readonly kind: "backoff" } | { readonly kind: "wait"; readonly afterMs: number };

/** Returns how to retry after an error; undefined if the failure is permanent. */
export function retryAfter(error: unknown): Retry | undefined {
  if (error instanceof WaitError) return { kind: "wait", afterMs: error.afterMs };
  return error instanceof TerminalError ? undefined : { kind: "backoff" };
}
