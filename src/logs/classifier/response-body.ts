import { includesAny, isOpening, lowerCase, wordBefore, words } from "./text";

// The API server answers with a Status object. A body without one comes from another server.

/** Whether a field of this name holds the body of an answer. */
export function isBodyKey(key: string): boolean {
  const lower = lowerCase(key);
  return lower.endsWith("body") || lower === "response";
}

/** Keys of the error objects that servers answer with. Log records have others too: a time, a level, a logger. */
const BODY_KEYS = new Set(
  words(
    "type basetype status statuscode status_code code error errors message title detail details success ok",
    "requestid request_id error_code errorcode error_description description instance trace_id",
  ),
);
/** Keys that log records without a time and a level do not have. */
const MARKING = new Set(words("type basetype status statuscode status_code code success ok requestid request_id"));

type Entries = readonly (readonly [string, unknown])[];

/** Whether a JSON object is the body of an answer that is no Status object: `{"type":"error","message":"Unauthorized"}`. */
export function isBody(entries: Entries): boolean {
  return isError(entries) || isWrapped(entries);
}

function isError(entries: Entries): boolean {
  const fields = entries.map(([key, value]) => [lowerCase(key), value] as const);
  if (!fields.every(([key]) => BODY_KEYS.has(key))) return false;
  return fields.some(([key, value]) => value === "error" || MARKING.has(key));
}

/** `{"error":{"code":"Unauthorized","message":"Unauthorized"}}`, `{"fault":{"faultstring":"Unauthorized"}}` */
function isWrapped(entries: Entries): boolean {
  const [first, second] = entries;
  if (first === undefined || second !== undefined || typeof first[1] !== "object") return false;
  return first[0] === "fault" || isError(Object.entries(first[1] ?? {}));
}

/** `body: Unauthorized`, `response: "Unauthorized"`, `body=Unauthorized`: the word is all that the server sent. */
export function isWholeBody(key: string, lower: string, at: number): boolean {
  let i = at - 1;
  while (i >= 0 && isOpening(lower.charAt(i))) i--;
  if (i < 0) return isBodyKey(key);
  const before = lower.slice(Math.max(0, i - HEADER_REACH), i);
  return BODIES.has(wordBefore(lower, i)) && !includesAny(before, KUBERNETES_BODIES);
}

/** client-go and kube-aggregator print the message of the Status object as the body. */
const KUBERNETES_BODIES = ["request.go:", "error: responsecode: "];
/** Longest distance from one of these to the end of the words before the body. */
const HEADER_REACH = 32;

const BODIES = new Set(["body", "response"]);
