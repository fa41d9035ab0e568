import type { Reading } from "./sentences";
import { isCallerAddress, isSample, isServing, namesCaller, namesClient, namesUnbelieved } from "./served";
import { includesAny, isSpaceCode, phrases } from "./text";

/** Whether the record is about a request made *to* this process: access lines, and clients it turned away. */
export function isInbound(reading: Reading): boolean {
  return (
    hasRequestLine(reading.text) ||
    isShortAccessLine(reading) ||
    hasClientField(reading) ||
    isRequestRecord(reading) ||
    isServing(reading.lower) ||
    namesClient(reading.lower) ||
    namesUnbelieved(reading.lower) ||
    isSample(reading.text) ||
    includesAny(reading.lower, TURNED_AWAY)
  );
}

/** What servers say about callers they don't believe. */
const TURNED_AWAY = [
  ...phrases(
    "authenticate the request, authenticate request, authenticating request, invalid bearer token",
    "rejected a caller, rejecting request, request refused, incoming request, unauthenticated request",
    "bad token, missing bearer, no auth token, authorization header, bearer token required",
    "refused connection from, connection from , login attempt, request completed, handled request",
    "finished request, authentication failed for, token review failed, rejected: 401, rejected with 401, returning 401, respond with 401",
    "responding with 401, sending 401, jwt_authn, anonymous request, wrote response, [exceptionshandler]",
  ),
  // A sample of a server's metrics.
  ...['{code="', ',code="', '{status="', ',status="', '{status_code="', ',status_code="'],
  // The API server's audit log.
  ...['"auditid"', "audit.k8s.io", '"responsestatus"'],
];

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "LIST", "WATCH"];

/** `"GET /path HTTP/1.1"`, unless a URL in front says that this process sent it (urllib3's debug lines). */
function hasRequestLine(text: string): boolean {
  for (let at = text.indexOf(" HTTP/"); at >= 0; at = text.indexOf(" HTTP/", at + 6)) {
    const start = text.lastIndexOf(" ", at - 1);
    const method = METHODS.find(m => text.endsWith(m, start));
    if (method === undefined || text.charAt(start + 1) !== "/") continue;
    if (!endsInUrl(text.slice(Math.max(0, start - URL_REACH), start - method.length))) return true;
  }
  return false;
}

/** As far before a request line as the URL of its host may begin. */
const URL_REACH = 300;

function endsInUrl(before: string): boolean {
  const trimmed = before.trimEnd().endsWith('"') ? before.trimEnd().slice(0, -1).trimEnd() : before.trimEnd();
  return trimmed.slice(trimmed.lastIndexOf(" ") + 1).includes("://");
}

/** `GET /path 401 4.3 ms`, `| 401 | 59µs | 192.0.2.1 | GET "/path"`: a path alone, and how long it took or who asked. */
function isShortAccessLine({ text, lower }: Reading): boolean {
  return (includesAny(lower, LATENCIES) || namesCaller(lower)) && METHODS.some(m => hasPathAfter(text, m));
}

const LATENCIES = [" ms", "µs", "μs", "ms)", "ms |", "ns)", "s) 401", "s |", "ms "];

function hasPathAfter(text: string, method: string): boolean {
  for (let at = text.indexOf(method); at >= 0; at = text.indexOf(method, at + method.length)) {
    let i = at + method.length;
    if (!isSpaceCode(text.charCodeAt(i))) continue;
    while (isSpaceCode(text.charCodeAt(i)) || text.charAt(i) === '"' || text.charAt(i) === "|") i++;
    if (text.charAt(i) === "/") return true;
  }
  return false;
}

/** Fields that only a server's record has: where the request came from. */
const CLIENT_FIELDS = [
  ...phrases(
    "remote_addr, remoteaddr, remote_ip, remoteip, client_ip, clientip, client.addr, client_addr",
    "clientaddr, srcip, src_ip, sourceip, source_ip, sourceips, remoteaddress, remote_address",
    "remote-addr, peer_addr, downstream_remote_address, x-forwarded-for, x_forwarded_for, http_user_agent",
    "useragent, user_agent, user-agent, referer, http_referer, peer.address, client.address, net.peer.ip",
    "grpc.service, remote_host, remotehost",
  ),
];

function hasClientField(reading: Reading): boolean {
  if (CLIENT_FIELDS.some(f => reading.fields.has(f))) return true;
  return PEER_FIELDS.some(f => isCallerAddress(reading.fields.get(f) ?? ""));
}

/** Fields that say so if their value is an address. */
const PEER_FIELDS = ["client", "peer", "remote", "src"];

const METHOD_FIELDS = ["method", "verb", "http.method", "request_method", "requestmethod", "http_method", "httpmethod"];
const PATH_FIELDS = [
  ...phrases(
    "uri, url, path, request_uri, requesturi, http.target, request_path, requestpath, url.path, route",
    "http.path, http.route, http.url, request, originalurl, requesturl",
  ),
];

/** A record with a method and a path without a host: who asks somebody else writes the address. */
function isRequestRecord(reading: Reading): boolean {
  if (!METHOD_FIELDS.some(f => reading.fields.has(f))) return false;
  return PATH_FIELDS.some(f => reading.fields.get(f)?.startsWith("/") === true);
}

/** Whether the record passes on an answer that somebody else got, or that somebody behind the API server gave. */
export function isRelayed(reading: Reading): boolean {
  return includesAny(reading.lower, RELAYED) || isEventRow(reading.text);
}

const RELAYED = [
  // A webhook's verdict, which the API server repeats.
  ...phrases("denied the request, admission webhook, failed calling webhook, failed to call webhook"),
  // What a network plugin told the kubelet.
  ...phrases("plugin type=, failedcreatepodsandbox, network for sandbox, failed to create pod sandbox, to cni network"),
  ...phrases("from cni network"),
  // Answered by the kubelet or a pod behind the API server, in the API server's words.
  ...phrases(
    "unable to upgrade connection, error upgrading connection, pods/log, pods/exec, pods/attach, pods/portforward, pods/proxy",
    "nodes/proxy, services/proxy, nodes/metrics, nodes/stats, :10250",
  ),
  // What another process logged, read by this one.
  ...phrases("in the log of, in the logs of, in logs of"),
  // Events of other processes, exported.
  ...[
    "event(v1.objectreference{",
    '"event occurred"',
    '"involvedobject"',
    '"reportingcomponent"',
    '"reportingcontroller"',
  ],
];

/** Whether the answer bears the marks of another server: it asks for a password, or its body is no Status object. */
export function isOthersAnswer(reading: Reading): boolean {
  const { lower } = reading;
  // API servers with basic authentication, up to 1.18, named themselves.
  if (lower.includes("www-authenticate") && !lower.includes('realm="kubernetes')) return true;
  const body = lower.indexOf(BODY);
  if (body < 0) return false;
  const start = lower.indexOf("{", body);
  if (start < 0 || start > body + BODY.length + 4) return false;
  return !lower.slice(start, start + BODY_REACH).includes("status");
}

/** How generated clients introduce the body of an answer. */
const BODY = "http response body:";
/** A Status object names its kind within this many characters. */
const BODY_REACH = 120;

/** A row of `kubectl get events` or `describe`: type, reason, age, speaker, in wide columns. */
function isEventRow(text: string): boolean {
  return text.startsWith("Warning  ") || text.startsWith("Normal  ");
}

/** Whether the API server refused to store an Event of this process: the quoted Event may speak of anything. */
export function isRejectedEvent(reading: Reading, word: string): boolean {
  if (!includesAny(reading.lower, ["server rejected event", "unable to write event"])) return false;
  const verdict = reading.text.slice(reading.text.lastIndexOf("}'") + 1);
  return verdict.includes(word);
}
