import { TerminalError, WaitError } from "./errors";

/** When to look again because of a failure: with backoff, after the time that the API server asked for, or not before the timed pass. */
export type Retry = { readonly kind: "backoff" } | { readonly kind: "wait"; readonly afterMs: number };

/** What an error says about trying again; undefined means that trying again changes nothing. */
export function retryAfter(error: unknown): Retry | undefined {
  if (error instanceof WaitError) return { kind: "wait", afterMs: error.afterMs };
  return error instanceof TerminalError ? undefined : { kind: "backoff" };
}
