// One small hierarchy: what the engine does next depends on the class alone.

/** Base of every error that this project throws on purpose. The message is a sentence for people; `cause` is kept. */
export abstract class ResilienceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Worth trying again: goes back into the queue with backoff. */
export class TransientError extends ResilienceError {}

/** The API server asked for patience (429, such as a PodDisruptionBudget's no). A write that is answered so was not carried out. */
export class WaitError extends ResilienceError {
  constructor(
    message: string,
    /** How long to wait at least, in milliseconds. */
    readonly afterMs: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A 5xx that asks for patience. It says nothing about whether a write was carried out: a proxy may have lost the answer of the server behind it. */
export class UnavailableError extends WaitError {}

/** Trying again changes nothing: waits for a new generation or the timed pass. */
export class TerminalError extends ResilienceError {}

/** 403: the operator lacks a right. The message names verb and resource. */
export class ForbiddenError extends TerminalError {}

/** 401: the operator's own identity is not accepted. */
export class UnauthorizedError extends TransientError {}

/** 409, or a uid or resourceVersion precondition that did not hold: the world has moved on; observe again. */
export class ConflictError extends TransientError {}

/** 404: the object of a write is gone. Reads return null instead. */
export class GoneError extends TransientError {}

/** The message of anything that was thrown, for logs and conditions. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message of an error that this project made. Any other may quote what was read, such as log text, which must not get out. */
export function publicMessage(error: unknown): string {
  if (error instanceof ResilienceError) return describeError(error);
  return error instanceof Error ? `an unexpected ${error.name}` : "an unexpected error";
}

/** Where an error comes from, without its message, which stands in the first lines of a stack. */
export function framesOf(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return stack
    .split("\n")
    .map(line => line.trim())
    .filter(line => /^at .*[:(]/.test(line));
}
