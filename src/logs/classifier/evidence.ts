import { includesAny, lowerCase, words } from "./text";
import {
  EXPLAINING,
  KUBERNETES_NAMES,
  KUBERNETES_NOUNS,
  KUBERNETES_PAIRS,
  KUBERNETES_WORDS,
  OTHER_PAIRS,
  OTHER_WORDS,
} from "./vocabulary";
import type { ParsedRecord } from "./parse-record";

/**
 * The server that a word or an address points to.
 * - `kubernetes`: the API server.
 * - `noun`: an ordinary word that is also a Kubernetes kind.
 * - `other`: another service.
 */
type Side = "kubernetes" | "noun" | "other";

/**
 * How much a piece of evidence says: an address is the server itself, a name (a client library, a Go type, "apiserver")
 * rarely means anything else, a word only hints.
 */
type Weight = "address" | "name" | "word";

/** A word or an address that points to one side, and its offset. */
export interface Evidence {
  readonly at: number;
  readonly side: Side;
  readonly weight: Weight;
}

/** Finds the evidence in a sentence, from left to right. */
export function evidenceIn(sentence: string): Evidence[] {
  const found: Evidence[] = [];
  const hints: Evidence[] = [];
  let previous = "";
  let isNamed = false;
  for (const token of tokensOf(sentence)) {
    const word = lowerCase(token.token);
    const claim = claimOf(token.token, word, previous);
    isNamed = isCapital(token.token) && (isNamed || PREPOSITIONS.has(previous));
    const foundClaim = claim ?? namedServerClaim(token, previous, isNamed);
    if (foundClaim !== null) found.push({ at: token.at, ...foundClaim });
    if (EXPLAINING.has(`${previous} ${word}`)) hints.push({ at: token.at, side: "other", weight: "word" });
    previous = word;
  }
  return withHints(found, hints);
}

/**
 * "authentication failed", "invalid token": the API server gives no explanation, so the words come from another service
 * or from this process. They count only if nothing in the sentence points to the API server, whose clients may use them.
 */
function withHints(found: Evidence[], hints: readonly Evidence[]): Evidence[] {
  if (found.some(e => e.side === "kubernetes")) return found;
  return [...found, ...hints].sort((a, b) => a.at - b.at);
}

type Claim = Omit<Evidence, "at">;

function claimOf(token: string, word: string, previous: string): Claim | null {
  // "see https://...": documentation, not a request.
  if (REFERRING.has(previous)) return null;
  return addressClaim(token) ?? wordClaim(word, previous) ?? nameClaim(word);
}

const REFERRING = new Set(words("see visit refer check docs documentation troubleshooting information details"));

function addressClaim(token: string): Claim | null {
  const side = sideOfAddress(token);
  return side === null ? null : { side, weight: "address" };
}

function wordClaim(word: string, previous: string): Claim | null {
  const pair = `${previous} ${word}`;
  if (OTHER_PAIRS.has(pair)) return { side: "other", weight: "word" };
  if (KUBERNETES_PAIRS.has(pair) || KUBERNETES_NAMES.has(word)) return { side: "kubernetes", weight: "name" };
  if (OTHER_WORDS.has(word)) return { side: "other", weight: "word" };
  // "list pods" is a request; "pod metrics" only mentions pods.
  if (KUBERNETES_WORDS.has(word)) return { side: "kubernetes", weight: API_VERBS.has(previous) ? "name" : "word" };
  return KUBERNETES_NOUNS.has(word) ? { side: "noun", weight: "word" } : null;
}

/** Verbs of requests to the API server. */
const API_VERBS = new Set(
  words(
    "get getting list listing watch watching create creating update updating patch patching delete deleting",
    "fetch fetching retrieve retrieving read reading query querying find finding the",
  ),
);

/**
 * A name at the end of an error link: "talking to PowerDNS: Unauthorized", "from Prism Central: Unauthorized", "by the
 * license server: Unauthorized". The API server and its kinds have known names, so any other name is another service.
 */
function namedServerClaim({ token, endsLink }: Token, previous: string, isNamed: boolean): Claim | null {
  const isServer = SERVERS.has(lowerCase(token)) && !OUR_SERVERS.has(previous);
  return endsLink && (isNamed || isServer) ? { side: "other", weight: "word" } : null;
}

function isCapital(token: string): boolean {
  return token.charAt(0) !== lowerCase(token.charAt(0));
}

const PREPOSITIONS = new Set(words("from to with at by via against"));
const SERVERS = new Set(words("server api backend"));
const OUR_SERVERS = new Set(words("the this our api kubernetes k8s kube core cluster resource remote"));

/** Names of Kubernetes client libraries in types and packages, and source files of client-go that log only requests to the API server. */
const CLIENT_NAMES = words(
  "client-go reflector.go: leaderelection.go: retrywatcher.go: round_trippers.go:",
  "kubernetes.client kubernetes.dynamic fabric8.kubernetes kubernetes_asyncio kubernetesclient kubeclient:: k8s.autorest k8s:: kube::",
  "kube_client:: kube_runtime:: pykube lightkube skuber swiftkube k8s.client phpk8s kubernetesapiexception kubeops",
  "@kubernetes/client-node kubernetes/ kubernetes_ watchconnectionmanager openshift. k8s.kubernetes k8s.watcher kr8s",
);

/** Compound names: Go types, files, packages, exceptions. */
function nameClaim(word: string): Claim | null {
  if (isGoType(word)) return { side: "kubernetes", weight: "name" };
  // Vault's path for a login with a Kubernetes token.
  if (word.includes("auth/kubernetes")) return { side: "other", weight: "name" };
  if (CLIENT_NAMES.some(n => word.includes(n))) return { side: "kubernetes", weight: "name" };
  const part = partSide(word);
  if (part !== null) return { side: part, weight: "name" };
  return isNamedAfterOther(word) ? { side: "other", weight: "name" } : null;
}

/**
 * The side of a name that is named after its service: `output:splunk:splunk.0`, `filter:kubernetes`, but not a logger `com.shop.kubernetes`.
 * Generated clients name their exception after their own package: `patroni.dcs.kubernetes.K8sClient.rest.ApiException`, others after others.
 */
function partSide(word: string): Side | null {
  const parts = word.split(":", 4);
  if (parts.some(part => OTHER_WORDS.has(part))) return "other";
  const dotted = word.split(".");
  const isException = dotted.length > 1 && dotted.at(-1) === "apiexception";
  const names = isException ? dotted : parts;
  if (names.some(part => KUBERNETES_NAMES.has(part))) return "kubernetes";
  return isException ? "other" : null;
}

/** `*v1.Pod`, `*unstructured.Unstructured`: types that client-go lists and watches. */
function isGoType(word: string): boolean {
  return word.startsWith("*") && word.includes(".");
}

/** `docker.errors.APIError`, `vault.api:`, `resource.labels.vault`: a name with the name of another service in it. */
function isNamedAfterOther(word: string): boolean {
  // Web frameworks name exceptions after the status that they send to their callers; Kubernetes clients do not.
  if (FRAMEWORK_EXCEPTIONS.some(name => word.endsWith(name))) return true;
  const isFailure = word.includes("error") || word.includes("exception");
  return isFailure && word.split(".", 4).some(part => OTHER_WORDS.has(part));
}

const FRAMEWORK_EXCEPTIONS = words(
  "unauthorizedexception unauthorizederror authenticationexception authenticationerror httpclientresponseexception",
  "unauthorizedhttpexception unauthorizedaccessexception accessdeniedexception",
);

/** A word, a name or an address of a sentence. */
interface Token {
  readonly token: string;
  /** Its offset in the sentence. */
  readonly at: number;
  /** Whether it ends a link of an error chain: a colon or the end of the sentence follows. */
  readonly endsLink: boolean;
}

/**
 * Blanks, quotes, brackets and commas separate tokens; a token may contain anything else, and the IPv6 address of a URL, `https://[fd00::1]`,
 * which is shorter than 64 characters with its zone.
 */
const TOKEN = /(?:[^ \t\r\n"'`()[\]{}<>,;|\\]+|(?<=:\/\/)\[[^\]]{0,62}\])+/g;
/** Punctuation at a token's edges belongs to the sentence. */
const EDGE = new Set(":.!?=&#");
/** Longer tokens are data such as base64. */
const LONGEST_TOKEN = 2048;

/** Returns the tokens of a sentence, from left to right. */
function tokensOf(sentence: string): Token[] {
  const tokens: Token[] = [];
  for (const { 0: text, index } of sentence.matchAll(TOKEN)) {
    let [start, end] = [index, index + text.length];
    if (text.length > LONGEST_TOKEN) continue;
    while (start < end && EDGE.has(sentence.charAt(start))) start++;
    while (end > start && EDGE.has(sentence.charAt(end - 1))) end--;
    const endsLink = end === sentence.length || sentence.charAt(end) === ":";
    if (end > start) tokens.push({ token: sentence.slice(start, end), at: start, endsLink });
  }
  return tokens;
}

/** Resources of the core group. Many services use `/api/v1/...`, and some of these words after it. */
const CORE_RESOURCES = new Set([
  ...["namespaces", "pods", "nodes", "services", "endpoints", "configmaps", "secrets", "events", "serviceaccounts"],
  ...["persistentvolumes", "persistentvolumeclaims", "replicationcontrollers", "limitranges", "resourcequotas"],
  ...["podtemplates", "componentstatuses", "bindings", "watch"],
]);
/** API groups whose name is not a domain. */
const GROUPS_WITHOUT_DOT = new Set(["apps", "autoscaling", "batch", "extensions", "policy"]);
/** The API server's port with kubeadm and most installers. */
const API_SERVER_PORT = "6443";
/** Domains under which clouds run API servers, and the variable that every pod has for its own. */
const API_SERVER_HOSTS = [".eks.amazonaws.com", ".azmk8s.io", ".k8s.ondigitalocean.com", "kubernetes_service_host"];
/** Returns the server that a URL, a path or an address points to; null if the token is none of these or points to none. */
function sideOfAddress(token: string): Side | null {
  const scheme = token.indexOf("://");
  if (scheme < 0) return isOwnAddress(token) || isOwnPath(token, true) ? "kubernetes" : null;
  const slash = token.indexOf("/", scheme + 3);
  const authority = lowerCase(token.slice(scheme + 3, slash < 0 ? undefined : slash));
  const path = slash < 0 ? "" : token.slice(slash);
  if (isOwnAddress(authority, path) || isOwnPath(path, isNameless(token, authority))) return "kubernetes";
  return isUnclear(authority, path) ? null : "other";
}

/** Whether only an API server serves a path. */
function isOwnPath(path: string, hasNoName: boolean): boolean {
  const [bare = "", query = ""] = path.split("?", 2);
  if (!path.startsWith("/")) return false;
  return isGroupPath(bare) || isCorePath(bare, hasNoName || includesAny(query, LIST_QUERIES));
}

/**
 * `/api/v1/<resource>...`. It is also a path of other services, so after a host's name it counts only with the query of a list, or for a
 * resource in a namespace.
 */
function isCorePath(path: string, isCertain: boolean): boolean {
  // A proxy adds a prefix to the API server's path.
  const at = path.indexOf("/api/v1/");
  if (at < 0) return false;
  const [resource = "", , inNamespace = ""] = path.slice(at + "/api/v1/".length).split("/", 3);
  return CORE_RESOURCES.has(resource) && (isCertain || CORE_RESOURCES.has(inNamespace));
}

/** Parameters of lists and watches. Every service has a limit; 500 is that of client-go and kubectl. */
const LIST_QUERIES = [
  ...["resourceVersion=", "fieldSelector=", "labelSelector=", "allowWatchBookmarks="],
  ...["limit=500", "watch=", "timeoutSeconds="],
];

function isUnclear(authority: string, path: string): boolean {
  // Discovery of an API server begins at /api, but so do the paths of many other services.
  if (path === "/api") return true;
  // In-cluster clients add the port of the API server's Service to its host's name; others seldom do.
  if (authority.endsWith(":443") && isCorePath(path, true)) return true;
  // 10.43.0.1 is an API server or a router. OkHttp names threads https://10.43.0.1/...
  return ["", "/"].includes(path) && (authority.startsWith("[") || isFirstAddress(authority));
}

/** `/apis/<group>/<version>...` */
function isGroupPath(path: string): boolean {
  const at = path.indexOf("/apis/");
  if (at < 0) return false;
  const [group, version] = path.slice(at + "/apis/".length).split("/", 3);
  return group !== undefined && isGroup(group) && (version === undefined || VERSION.test(version));
}

/** Only the oldest API groups have a name without a dot; any service may have a single word in its path. */
function isGroup(part: string): boolean {
  return part.includes(".") || GROUPS_WITHOUT_DOT.has(part);
}

/** v1, v1beta1 or v2alpha1. */
const VERSION = /^v\d+(?:(?:alpha|beta)\d+)?$/;

/** Whether a host with its port, if any, is an API server. The path is that of a URL. */
function isOwnAddress(authority: string, path = ""): boolean {
  const [name = "", port = ""] = authority.split(authority.startsWith("[") ? "]:" : ":", 2);
  if (port === API_SERVER_PORT || (port === "443" && isService(name, path))) return true;
  // 10.96.0.1 is the first address of kubeadm's default service range.
  if (name.startsWith("kubernetes.default") || name === "10.96.0.1") return true;
  return API_SERVER_HOSTS.some(end => name.endsWith(end));
}

/** Clients of the API server add the port of its Service; a router is named without. 192.168.0.1 is a router. */
function isService(name: string, path: string): boolean {
  return isFirstAddress(name) && !name.startsWith("192.") && ROOTS.has(path);
}

/** What a client of the API server is configured with; devices have other paths. */
const ROOTS = new Set(["", "/", "/api", "/api/v1", "/apis"]);

/** Whether the host of a URL is an IP address. An API server is not asked in clear text. */
function isNameless(url: string, authority: string): boolean {
  if (url.startsWith("http:")) return false;
  return authority.startsWith("[") || Array.from(authority).every(character => NUMBERS.includes(character));
}

const NUMBERS = "0123456789.:";

/** The first address of a private IPv4 range, which is the API server's in a range for Services. */
function isFirstAddress(address: string): boolean {
  return address.endsWith(".0.1") && PRIVATE_RANGES.some(start => address.startsWith(start));
}

const PRIVATE_RANGES = ["10.", "172.", "192."];

/** Whether a record's field names a provider that asks only the API server, as in `providerName=kubernetescrd`. */
export function isKubernetesProvider({ fields }: Pick<ParsedRecord, "fields">): boolean {
  return KUBERNETES_PROVIDERS.has(fields.get("providername") ?? "");
}

/** As Traefik names them (pkg/provider/*, v2 and v3). */
const KUBERNETES_PROVIDERS: ReadonlySet<string> = new Set(
  words("kubernetes kubernetescrd kubernetesingress kubernetesgateway kubernetesingressnginx knative"),
);

/** Returns the evidence of a sentence about such a provider, in which the word "Provider" means no other service. */
export function withoutProvider(text: string, evidence: readonly Evidence[]): readonly Evidence[] {
  return evidence.filter(({ at }) => !text.startsWith("Provider", at));
}
