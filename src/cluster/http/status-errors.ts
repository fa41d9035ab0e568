import {
  ConflictError,
  ForbiddenError,
  GoneError,
  type ResilienceError,
  TerminalError,
  TransientError,
  UnauthorizedError,
  UnavailableError,
  WaitError,
} from "../../core/errors";
import { arrayOf, type JsonObject, numberOf, objectOf, parseObject, textOf, textsOf } from "../../core/json";

/** 410: a resourceVersion or a continue token is older than what the API server remembers; list again. */
export class ExpiredError extends TransientError {}

/** 403 for a namespace that is being deleted: nothing new is taken there any more. No right is missing. */
export class TerminatingError extends ForbiddenError {}

/** What the API server answered, as far as errors need it. */
export interface Refusal {
  /** HTTP status code. */
  readonly code: number;
  /** The header Retry-After. */
  readonly retryAfter?: string | undefined;
  /** The body, if it was a metav1.Status. */
  readonly status: JsonObject;
}

/** Without a Retry-After a 429 waits as long as the API server's own overload answer says: one second. */
const DEFAULT_WAIT_MS = 1_000;

/** No Retry-After keeps us away for longer than this: it is a hint, and hints can be wrong. */
const MAX_WAIT_MS = 300_000;

/** Longest part of a Status message that is kept; conditions and logs show it. */
const MAX_DETAIL = 500;

const PHRASES: Readonly<Record<number, string>> = {
  401: "the API server does not accept the operator's credentials (401)",
  403: "the operator is not allowed to do that (403)",
  404: "not found (404)",
  409: "it has changed meanwhile (409)",
  410: "too old for the API server (410)",
  429: "the API server said no for now (429)",
};

/** The body as a metav1.Status; empty if it is anything else, so that no other text finds its way into messages. */
export function parseStatus(body: string): JsonObject {
  const value = parseObject(body);
  return value?.["kind"] === "Status" ? value : {};
}

/**
 * The error for an answer other than 2xx.
 *
 * @param what verb and resource for people, such as `list pods in kai`
 */
export function errorOfRefusal(refusal: Refusal, what: string): ResilienceError {
  const message = describeRefusal(refusal, what);
  switch (refusal.code) {
    case 401:
      return new UnauthorizedError(message);
    case 403:
      return forbidden(refusal, message);
    case 404:
      return new GoneError(message);
    case 409:
      return new ConflictError(message);
    case 410:
      return new ExpiredError(message);
    case 422:
      return isUidMismatch(refusal) ? new ConflictError(message) : new TerminalError(message);
    case 429:
      return new WaitError(message, waitMs(refusal) ?? DEFAULT_WAIT_MS);
    default:
      return errorOfRange(refusal, message);
  }
}

function errorOfRange(refusal: Refusal, message: string): ResilienceError {
  if (refusal.code >= 400 && refusal.code < 500) return new TerminalError(message);
  const afterMs = waitMs(refusal);
  return afterMs === undefined ? new TransientError(message) : new UnavailableError(message, afterMs);
}

function describeRefusal(refusal: Refusal, what: string): string {
  const detail = textOf(refusal.status["message"])?.slice(0, MAX_DETAIL);
  const phrase = PHRASES[refusal.code] ?? `the API server answered ${refusal.code}`;
  return detail === undefined || detail === "" ? `${what}: ${phrase}` : `${what}: ${phrase}: ${detail}`;
}

/** From the header, else from the Status (an Eviction answers there), in milliseconds. */
function waitMs(refusal: Refusal): number | undefined {
  const fromHeader = refusal.retryAfter === undefined ? NaN : Number(refusal.retryAfter);
  const seconds = Number.isFinite(fromHeader)
    ? fromHeader
    : numberOf(objectOf(refusal.status["details"])["retryAfterSeconds"]);
  return seconds === undefined ? undefined : Math.min(MAX_WAIT_MS, Math.max(0, seconds * 1000));
}

/** A patch with another object's uid is answered 422 with `metadata.uid: field is immutable`, though it is a conflict. */
function isUidMismatch(refusal: Refusal): boolean {
  return causesOf(refusal).some(({ field }) => field === "metadata.uid");
}

/** The cause is `NamespaceTerminating` where a namespace is going (k8s.io/apiserver, admission plugin NamespaceLifecycle). */
function forbidden(refusal: Refusal, message: string): ForbiddenError {
  const isGoing = causesOf(refusal).some(({ reason }) => reason === "NamespaceTerminating");
  return isGoing ? new TerminatingError(message) : new ForbiddenError(message);
}

function causesOf({ status }: Refusal): Record<string, string>[] {
  return arrayOf(objectOf(status["details"])["causes"]).map(textsOf);
}
