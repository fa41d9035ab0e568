import type { IncomingHttpHeaders } from "node:http";
import {
  ConflictError,
  ForbiddenError,
  GoneError,
  type ResilienceError,
  TerminalError,
  TerminatingError,
  TransientError,
  UnauthorizedError,
  UnavailableError,
  WaitError,
} from "../../core/errors";
import { arrayOf, type JsonObject, numberOf, objectOf, parseObject, textOf, textsOf } from "../../core/json";

/** 410: the API server no longer has this resourceVersion or continue token; relist. */
export class ExpiredError extends TransientError {}

/** A response that is not 2xx, as far as errors need it. */
export interface Refusal {
  readonly code: number;
  /** Of {@link retryAfterMs}. */
  readonly retryAfterMs?: number | undefined;
  /** The body if it is a metav1.Status, else empty. */
  readonly status: JsonObject;
}

/** For a 429 without Retry-After; the API server's own value. */
const DEFAULT_WAIT_MS = 1_000;

/** Longest wait, in milliseconds, since a Retry-After can be wrong: without a full pass for five minutes the process counts as hung. */
const MAX_WAIT_MS = 240_000;

/** Longest part of a Status message in conditions and logs. */
const MAX_DETAIL = 500;

const PHRASES: Readonly<Record<number, string>> = {
  401: "credentials rejected (401)",
  403: "forbidden (403)",
  404: "not found (404)",
  409: "conflict (409)",
  410: "expired (410)",
  429: "refused for now (429)",
};

const ERRORS: Readonly<Record<number, new (message: string) => TransientError>> = {
  401: UnauthorizedError,
  404: GoneError,
  409: ConflictError,
  410: ExpiredError,
};

/** Parses a metav1.Status; empty for any other body, so that no other text gets into messages. */
export function parseStatus(body: string): JsonObject {
  const value = parseObject(body);
  return value?.["kind"] === "Status" ? value : {};
}

/**
 * Returns the error for a response other than 2xx.
 *
 * @param what verb and resource, such as `list pods in kai`
 */
export function errorOfRefusal(refusal: Refusal, what: string): ResilienceError {
  const message = describeRefusal(refusal, what);
  if (isOfKubelet(refusal)) return new TransientError(message);
  const Known = ERRORS[refusal.code];
  if (Known !== undefined) return new Known(message);
  switch (refusal.code) {
    case 403:
      return forbidden(refusal, message);
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
  // A refused eviction names the PodDisruptionBudget in a cause, and not in its message.
  const budgets = causesOf(refusal).filter(({ reason }) => reason === "DisruptionBudget");
  const texts = [textOf(refusal.status["message"]), ...budgets.map(({ message }) => message)];
  const detail = texts.filter(Boolean).join(" ").slice(0, MAX_DETAIL);
  const code = PHRASES[refusal.code] ?? `HTTP ${refusal.code}`;
  const phrase = isOfKubelet(refusal) ? `the kubelet to the API server: ${code}` : code;
  return detail === "" ? `${what}: ${phrase}` : `${what}: ${phrase}: ${detail}`;
}

/** The API server passes on that a kubelet refuses its credentials, as of `pods/log`. In its own refusals the kind is `pods`, or absent. */
function isOfKubelet({ code, status }: Refusal): boolean {
  return (code === 401 || code === 403) && objectOf(status["details"])["kind"] === "pods/log";
}

/** Returns how long to wait: as the header says, or the Status, where an Eviction has it. */
function waitMs({ retryAfterMs: headerMs, status }: Refusal): number | undefined {
  const seconds = numberOf(objectOf(status["details"])["retryAfterSeconds"]);
  return headerMs ?? (seconds === undefined ? undefined : clamped(1000 * seconds));
}

function clamped(ms: number): number {
  return Math.min(MAX_WAIT_MS, Math.max(0, ms));
}

/** Returns the Retry-After header in milliseconds: it has seconds, or a date, by the clock of the server. */
export function retryAfterMs(headers: Pick<IncomingHttpHeaders, "retry-after" | "date">): number | undefined {
  const { "retry-after": asked = "", date = "" } = headers;
  const ms = /^\d+$/.test(asked) ? 1000 * Number(asked) : Date.parse(asked) - Date.parse(date);
  return Number.isNaN(ms) ? undefined : clamped(ms);
}

/** The API server reports a patch with another object's uid as 422 `metadata.uid: field is immutable`, but it is a conflict. */
function isUidMismatch(refusal: Refusal): boolean {
  return causesOf(refusal).some(({ field }) => field === "metadata.uid");
}

/** In a terminating namespace the cause is `NamespaceTerminating` (k8s.io/apiserver, admission plugin NamespaceLifecycle). */
function forbidden(refusal: Refusal, message: string): ForbiddenError {
  const isGoing = causesOf(refusal).some(({ reason }) => reason === "NamespaceTerminating");
  return isGoing ? new TerminatingError(message) : new ForbiddenError(message);
}

function causesOf({ status }: Refusal): Record<string, string>[] {
  return arrayOf(objectOf(status["details"])["causes"]).map(textsOf);
}
