import type { ParsedRecord } from "./parse-record";
import { includesAny, indexOfWord, lowerCase, phrases } from "./text";
import { carriesErrors } from "./vocabulary";

/** Whether the record is about a request *to* this process: an access log line, or a client that it rejected. */
export function isInbound(record: ParsedRecord): boolean {
  return (
    REQUEST_LINE.test(record.text) ||
    isShortAccessLine(record) ||
    hasClientField(record) ||
    isRequestRecord(record) ||
    isServing(record.lower) ||
    CLIENT.test(record.lower) ||
    includesAny(record.lower, REJECTED_CLIENT)
  );
}

/** Phrases of servers that reject a client. */
const REJECTED_CLIENT = [
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

const METHOD = "(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|CONNECT|LIST|WATCH)";

/** `"GET /path HTTP/1.1"`: a path without a host. */
const REQUEST_LINE = new RegExp(`${METHOD} /[^ ]* HTTP/`);

/** `GET /path 401 4.3 ms`, `| 401 | 59µs | 192.0.2.1 | GET "/path"`: a path with a latency or a client address. */
function isShortAccessLine({ text, lower }: ParsedRecord): boolean {
  return (includesAny(lower, LATENCIES) || namesCaller(lower)) && METHOD_AND_PATH.test(text);
}

const LATENCIES = [" ms", "µs", "μs", "ms)", "ms |", "ns)", "s) 401", "s |", "ms "];
const METHOD_AND_PATH = new RegExp(String.raw`${METHOD}[ \t-\r][ \t-\r"|]*/`);

/** Fields for the origin of a request, which only servers log. */
const CLIENT_FIELDS = [
  ...phrases(
    "remote_addr, remoteaddr, remote_ip, remoteip, client_ip, clientip, client.addr, client_addr",
    "clientaddr, srcip, src_ip, sourceip, source_ip, sourceips, remoteaddress, remote_address",
    "remote-addr, peer_addr, downstream_remote_address, x-forwarded-for, x_forwarded_for, http_user_agent",
    "useragent, user_agent, user-agent, referer, http_referer, peer.address, client.address, net.peer.ip",
    "grpc.service, remote_host, remotehost",
  ),
];

function hasClientField(record: ParsedRecord): boolean {
  if (CLIENT_FIELDS.some(f => record.fields.has(f))) return true;
  return PEER_FIELDS.some(f => CALLER_ADDRESS.test(record.fields.get(f) ?? ""));
}

/** Fields that name a client if their value is an address. */
const PEER_FIELDS = ["client", "peer", "remote", "src"];

const METHOD_FIELDS = ["method", "verb", "http.method", "request_method", "requestmethod", "http_method", "httpmethod"];
const PATH_FIELDS = [
  ...phrases(
    "uri, url, path, request_uri, requesturi, http.target, request_path, requestpath, url.path, route",
    "http.path, http.route, http.url, request, originalurl, requesturl",
  ),
];

/** Whether a record has a method and a path without a host. A client logs the whole address. */
function isRequestRecord(record: ParsedRecord): boolean {
  if (!METHOD_FIELDS.some(f => record.fields.has(f))) return false;
  return PATH_FIELDS.some(f => record.fields.get(f)?.startsWith("/") === true);
}

/** Whether the record repeats an answer that another process received, or that came from behind the API server. */
export function isRelayed(record: ParsedRecord): boolean {
  return includesAny(record.lower, RELAYED) || isOfOtherCluster(record);
}

/** Whether a sentence, not the name of a logger or a controller, says that another cluster was asked. */
function isOfOtherCluster({ fields, sentences }: ParsedRecord): boolean {
  if (fields.has("remotecluster")) return true;
  return sentences.some(({ key, text }) => {
    const lower = lowerCase(text);
    return carriesErrors(key) && (includesAny(lower, CLUSTERS) || HUBS.some(hub => indexOfWord(lower, hub) >= 0));
  });
}

/** The API server of another cluster, as managers of clusters name it. */
const CLUSTERS = phrases(
  "hub cluster, spoke cluster, member cluster, workload cluster, remote cluster, target cluster",
  "guest cluster, hosted cluster, managed cluster, downstream cluster, child cluster, shoot cluster",
  "host cluster:, the host cluster",
);
/** Whole words: not "the hubble peers". */
const HUBS = ["the hub", "on hub"];

const RELAYED = [
  // The answer of a webhook or an aggregated API server, which the API server repeats.
  ...phrases("denied the request, admission webhook, failed calling webhook, failed to call webhook"),
  ...phrases("conversion webhook for, failing or missing response from"),
  // What a network plugin reported to the kubelet.
  ...phrases("plugin type=, failedcreatepodsandbox, network for sandbox, failed to create pod sandbox, to cni network"),
  ...phrases("from cni network, networkplugin cni failed, createpodsandbox, stoppodsandbox, killpodsandbox"),
  // A network plugin's failure, logged by the kubelet's cni.go.
  ...phrases("to network calico/, from network calico/, deleting pod from network, adding pod to network"),
  // Answers of the kubelet or of a pod, which the API server relays.
  ...phrases(
    "unable to upgrade connection, error upgrading connection, pods/log, pods/exec, pods/attach, pods/portforward, pods/proxy",
    "nodes/proxy, services/proxy, nodes/metrics, nodes/stats, :10250, :10255",
  ),
  // The kubelet's own words for a 403, and its list of pods.
  ...phrases("forbidden (user=, pods response, pods endpoint"),
  // The log of another process, quoted by this one.
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

/** Whether the answer is another server's: its body is no Status object. */
export function isOthersAnswer(record: ParsedRecord): boolean {
  const { lower } = record;
  const body = lower.indexOf(BODY);
  if (body < 0) return false;
  const start = lower.indexOf("{", body);
  if (start < 0 || start > body + BODY.length + 4) return false;
  return !lower.slice(start, start + BODY_REACH).includes("status");
}

/** Generated clients print this before the body of an answer. */
const BODY = "http response body:";
/** A Status object has its kind within this many characters. */
const BODY_REACH = 120;

/** Whether the API server rejected an Event of this process. The quoted Event may contain any words. */
export function isRejectedEvent(record: ParsedRecord, word: string): boolean {
  if (!includesAny(record.lower, ["server rejected event", "unable to write event"])) return false;
  const answer = record.text.slice(record.text.lastIndexOf("}'") + 1);
  return answer.includes(word);
}

// Words by which a server describes what it did to its clients: participles such as "rejecting", and client addresses.

/** What servers do to their clients. */
const SERVING = phrases("responding, replying, answering, rejecting, refusing, denying");
/** "token is expired; responding Unauthorized", "rejecting agent a-1: Unauthorized". */
function isServing(lower: string): boolean {
  return SERVING.some(verb => {
    const at = lower.indexOf(`${verb} `);
    if (at < 0) return false;
    const lineEnd = lower.indexOf("\n", at);
    return includesAny(lower.slice(at, lineEnd < 0 ? lower.length : lineEnd), ["401", "unauthorized"]);
  });
}

/** An IPv4 address. */
const ADDRESS = String.raw`\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)`;

/** Whether a client's address is named: `from 192.0.2.7`, or after the status, `401 ... to 192.0.2.7`. */
function namesCaller(lower: string): boolean {
  const answer = lower.indexOf(" 401 ");
  return FROM_CALLER.test(lower) || (answer >= 0 && TO_CALLER.test(lower.slice(answer)));
}

const FROM_CALLER = new RegExp(` (?:from|for) ${ADDRESS}`);
const TO_CALLER = new RegExp(` to ${ADDRESS}`);

/** `[client 192.0.2.7:4411]`, `client: 192.0.2.7`, as web servers log it. */
const CLIENT = new RegExp(`client:? ${ADDRESS}`);

/** The value of a field that is a client's address. */
const CALLER_ADDRESS = new RegExp(`^${ADDRESS}`);
