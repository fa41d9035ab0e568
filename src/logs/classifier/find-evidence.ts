import type { Evidence, Side } from "./evidence";
import { sideOfAddress } from "./request-address";
import { lowerCase, words } from "./text";
import { tokensOf, type Token } from "./tokens";
import { KUBERNETES_NAMES, KUBERNETES_NOUNS, KUBERNETES_PAIRS, KUBERNETES_WORDS } from "./kubernetes-words";
import { EXPLAINING, OTHER_PAIRS, OTHER_WORDS } from "./other-words";

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
    if (MACHINERY.has(word)) makeNoun(found, token.at - previous.length - 1);
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

const REFERRING = new Set(words("see visit refer docs documentation troubleshooting information details"));

function addressClaim(token: string): Claim | null {
  const side = sideOfAddress(token);
  return side === null ? null : { side, weight: "address" };
}

/** "upstream reconciler", "bucket informer": the first word is a kind, even if a service has the same name. */
function makeNoun(found: Evidence[], at: number): void {
  const last = found.at(-1);
  if (last?.at === at) found[found.length - 1] = { at, side: "noun", weight: "word" };
}

const MACHINERY = new Set(words("reconciler reconciliation informer informers lister finalizer finalizers crd crds"));

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

/** Source files of client-go that log only requests to the API server. */
const CLIENT_FILES = ["reflector.go:", "leaderelection.go:", "retrywatcher.go:", "round_trippers.go:", "client-go"];
/** Names of Kubernetes client libraries in types and packages. */
const CLIENT_NAMES = words(
  "kubernetes.client kubernetes.dynamic fabric8.kubernetes kubernetes_asyncio kubernetesclient kubeclient:: k8s.autorest k8s:: kube::",
  "kube_client:: kube_runtime:: pykube lightkube skuber swiftkube k8s.client phpk8s kubernetesapiexception kubeops",
  "@kubernetes/client-node kubernetes/ kubernetes_ watchconnectionmanager openshift. k8s.kubernetes k8s.watcher kr8s",
);

/** Compound names: Go types, files, packages, exceptions. */
function nameClaim(word: string): Claim | null {
  if (isGoType(word)) return { side: "kubernetes", weight: "name" };
  if (CLIENT_FILES.some(f => word.includes(f)) || CLIENT_NAMES.some(n => word.includes(n))) {
    return { side: "kubernetes", weight: "name" };
  }
  const part = partSide(word);
  if (part !== null) return { side: part, weight: "name" };
  if (isObjectName(word)) return { side: "noun", weight: "name" };
  return isNamedAfterOther(word) ? { side: "other", weight: "name" } : null;
}

/** `output:splunk:splunk.0`, `filter:kubernetes`: plugins are named after their service. */
function partSide(word: string): Side | null {
  const parts = word.split(":", 4);
  if (parts.some(part => OTHER_WORDS.has(part))) return "other";
  return parts.some(part => KUBERNETES_NAMES.has(part)) ? "kubernetes" : null;
}

/** `namespace/name` */
function isObjectName(word: string): boolean {
  const slash = word.indexOf("/");
  return slash > 0 && slash < word.length - 1 && !word.includes(".");
}

/** `*v1.Pod`, `*unstructured.Unstructured`: types that client-go lists and watches. */
function isGoType(word: string): boolean {
  return word.startsWith("*") && word.includes(".");
}

/** `docker.errors.APIError`, `vault.api:`, `resource.labels.vault`: a name with the name of another service in it. */
function isNamedAfterOther(word: string): boolean {
  // Web frameworks name exceptions after the status that they send to their callers; Kubernetes clients do not.
  if (FRAMEWORK_EXCEPTIONS.some(name => word.endsWith(name))) return true;
  // `harbor_client.rest.ApiException`, but a Go file with such a name may contain any client.
  if (word.includes("_client.") && !word.includes("_client.go")) return true;
  const isFailure = word.includes("error") || word.includes("exception");
  return isFailure && word.split(".", 4).some(part => OTHER_WORDS.has(part));
}

const FRAMEWORK_EXCEPTIONS = words(
  "unauthorizedexception unauthorizederror authenticationexception authenticationerror httpclientresponseexception",
  "unauthorizedhttpexception unauthorizedaccessexception accessdeniedexception",
);
