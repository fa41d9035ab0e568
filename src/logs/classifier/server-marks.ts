import { includesAny, isDigitCode, isSpaceCode, phrases, wordBefore } from "./text";

// Words by which a server describes what it did to its clients: participles such as "rejecting", and client addresses.

/** Whether the text is a metrics sample: `name{label="value"} 1`. */
export function isSample(text: string): boolean {
  const open = text.indexOf("{");
  const close = text.lastIndexOf("}");
  if (open <= 0 || close < open || text.slice(open, close).indexOf('="') < 0) return false;
  if (wordBefore(text, open).length < Math.min(open, LONGEST_WORD)) return false;
  const value = text.slice(close + 1).trim();
  return value !== "" && !Number.isNaN(Number(value.split(" ", 1)[0]));
}

/** Limit of wordBefore(). */
const LONGEST_WORD = 32;

/** What servers do to their clients. */
const SERVING = phrases("responding, replying, answering, rejecting, refusing, denying");
/** Words before a participle whose subject is another process. */
const OTHERS_DO = new Set(
  phrases(
    "is, are, was, were, been, keeps, kept, starts, started, stopped, not, it, server, apiserver, api, kubernetes, k8s",
  ),
);

/** "token is expired; responding Unauthorized", "rejecting agent a-1: Unauthorized", but not "the API server is rejecting". */
export function isServing(lower: string): boolean {
  return SERVING.some(verb => {
    const at = lower.indexOf(`${verb} `);
    if (at < 0 || OTHERS_DO.has(wordBefore(lower, at - 1))) return false;
    // "refusing to start" is about the process itself.
    if (lower.startsWith(" to ", at + verb.length)) return false;
    const lineEnd = lower.indexOf("\n", at);
    return includesAny(lower.slice(at, lineEnd < 0 ? lower.length : lineEnd), ["401", "unauthorized"]);
  });
}

/** Whether a client is called unauthorized; `error=Unauthorized user=web` is two fields. */
export function namesUnauthorizedClient(lower: string): boolean {
  return UNAUTHORIZED_CLIENTS.some(phrase => {
    let at = lower.indexOf(phrase);
    while (at >= 0 && lower.charAt(at + phrase.length) === "=") at = lower.indexOf(phrase, at + phrase.length);
    return at >= 0;
  });
}

const UNAUTHORIZED_CLIENTS = ["request", "connection", "access", "client", "user"].map(who => `unauthorized ${who}`);

/** Whether a client's address is named: `from 192.0.2.7`, or after the status, `401 ... to 192.0.2.7`. */
export function namesCaller(lower: string): boolean {
  if (CALLER_PREPOSITIONS.some(preposition => hasCallerAfter(lower, preposition, 0))) return true;
  const answer = lower.indexOf(" 401 ");
  return answer >= 0 && hasCallerAfter(lower, " to ", answer);
}

const CALLER_PREPOSITIONS = [" from ", " for "];

/** `[client 192.0.2.7:4411]`, `client: 192.0.2.7`, as web servers log it. */
export function namesClient(lower: string): boolean {
  return ["client ", "client: "].some(label => hasCallerAfter(lower, label, 0));
}

/** Whether the value of a field is a client's address. */
export function isCallerAddress(value: string): boolean {
  return isCaller(value, 0);
}

function hasCallerAfter(lower: string, preposition: string, from: number): boolean {
  for (let at = lower.indexOf(preposition, from); at >= 0; at = lower.indexOf(preposition, at + 1)) {
    if (isCaller(lower, at + preposition.length)) return true;
  }
  return false;
}

/** An IPv4 address with neither a server's port nor the first address of a service range. */
function isCaller(lower: string, start: number): boolean {
  const end = addressEnd(lower, start);
  const address = lower.slice(start, end);
  if (address.split(".").filter(part => part !== "").length !== 4) return false;
  if (address.endsWith(".0.1") || SERVER_PORTS.some(port => lower.startsWith(port, end))) return false;
  return end === lower.length || isSpaceCode(lower.charCodeAt(end)) || SEPARATORS.has(lower.charAt(end));
}

function addressEnd(lower: string, start: number): number {
  let end = start;
  while (end - start < LONGEST_IPV4 && (isDigitCode(lower.charCodeAt(end)) || lower.charAt(end) === ".")) end++;
  return end;
}

const SEPARATORS = new Set(":,;)]\"'");
const LONGEST_IPV4 = 16;
const SERVER_PORTS = [":443", ":6443"];
