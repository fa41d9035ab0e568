import { includesAny, isDigitCode, isWordCode, phrases } from "./text";

// Words by which a server describes what it did to its clients: participles such as "rejecting", and client addresses.

/** What servers do to their clients. */
const SERVING = phrases("responding, replying, answering, rejecting, refusing, denying");
/** "token is expired; responding Unauthorized", "rejecting agent a-1: Unauthorized". */
export function isServing(lower: string): boolean {
  return SERVING.some(verb => {
    const at = lower.indexOf(`${verb} `);
    if (at < 0) return false;
    const lineEnd = lower.indexOf("\n", at);
    return includesAny(lower.slice(at, lineEnd < 0 ? lower.length : lineEnd), ["401", "unauthorized"]);
  });
}

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

/** An IPv4 address without a server's port. */
function isCaller(lower: string, start: number): boolean {
  const end = addressEnd(lower, start);
  const address = lower.slice(start, end);
  if (address.split(".").filter(part => part !== "").length !== 4) return false;
  return !SERVER_PORTS.some(port => lower.startsWith(port, end)) && !isWordCode(lower.charCodeAt(end));
}

function addressEnd(lower: string, start: number): number {
  let end = start;
  while (end - start < LONGEST_IPV4 && (isDigitCode(lower.charCodeAt(end)) || lower.charAt(end) === ".")) end++;
  return end;
}

const LONGEST_IPV4 = 16;
const SERVER_PORTS = [":443", ":6443"];
