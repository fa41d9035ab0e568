/**
 * A place in a sentence that reports a denied request.
 * - `bare`: the API server's whole answer at the end of an error chain. It counts as the API server's unless evidence
 *   points to another service.
 * - `http`: a status that any HTTP server gives. It counts as the API server's only with evidence.
 * - `asked`: the words after it name the server that gave it.
 */
export interface Answer {
  readonly at: number;
  readonly end: number;
  readonly kind: "bare" | "http" | "asked";
}
