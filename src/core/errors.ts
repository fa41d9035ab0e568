// The class of an error alone decides what the engine does next.

/** Base class of all errors that this project throws. */
export abstract class ResilienceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A transient failure: requeue with backoff. */
export class TransientError extends ResilienceError {}

/** 429, for example from a PodDisruptionBudget: retry after a delay. The API server did not apply the write. */
export class WaitError extends ResilienceError {
  constructor(
    message: string,
    /** Minimum delay in milliseconds. */
    readonly afterMs: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What is being read arrives within moments: the pass ends without a report, and is repeated after the delay. */
export class NotYetError extends WaitError {}

/** 5xx with Retry-After. The write may have been applied: a proxy may have lost the response. */
export class UnavailableError extends WaitError {}

/** A permanent failure: wait for a new generation or the full pass. */
export class TerminalError extends ResilienceError {}

/** The answer is longer than the client takes. */
export class TooLargeError extends TerminalError {}

/** 403: the operator lacks a permission. The message names verb and resource. */
export class ForbiddenError extends TerminalError {}

/** 403 for a create in a namespace that is being deleted; no permission is missing. */
export class TerminatingError extends ForbiddenError {}

/** 401: the API server rejected the operator's own identity. */
export class UnauthorizedError extends TransientError {}

/** 409, or a failed uid or resourceVersion precondition: observe again. */
export class ConflictError extends TransientError {}

/** 404 for a write. Reads return null instead. */
export class GoneError extends TransientError {}

/** Returns the message of a thrown value. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the message of a ResilienceError. Other messages may quote data such as log text, so only the name is returned. */
export function publicMessage(error: unknown): string {
  if (error instanceof ResilienceError) return describeError(error);
  return error instanceof Error ? `an unexpected ${error.name}` : "an unexpected error";
}

/** Why something is not known. */
export interface Problem {
  /** The operator lacks a permission. */
  readonly forbidden: boolean;
  /** A sentence for people, without a period. */
  readonly message: string;
  /** Only a person can change it. */
  readonly isLasting?: boolean;
}

/** Returns the problem of a read that failed. */
export function problemOf(error: unknown): Problem {
  return { forbidden: error instanceof ForbiddenError, message: publicMessage(error) };
}

/** Returns the stack frames of an error without its message. */
export function framesOf(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return stack
    .split("\n")
    .map(line => line.trim())
    .filter(line => /^at .*[:(]/.test(line));
}
