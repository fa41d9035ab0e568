import { askedUrl } from "./url";
import { isDigitCode, lowerCase } from "./text";
import { KUBERNETES_NAMES, KUBERNETES_NOUNS, KUBERNETES_PAIRS, KUBERNETES_WORDS } from "./kubernetes-words";
import { OTHER_PAIRS, OTHER_WORDS } from "./other-words";

/**
 * Whom a word or an address speaks for.
 * - `kubernetes`: nothing but the Kubernetes API is described so.
 * - `noun`: an ordinary word that is also a Kubernetes kind.
 * - `other`: another service.
 */
export type Side = "kubernetes" | "noun" | "other";

/**
 * How much a piece of evidence says: an address is who was asked, a name (a client library, a Go type, "apiserver")
 * is hardly ever said of anything else, a word only hints.
 */
export type Weight = "address" | "name" | "word";

/** A word or an address that speaks for one side, and where it stands. */
export interface Evidence {
  readonly at: number;
  readonly side: Side;
  readonly weight: Weight;
}

/** Everything in a sentence that speaks for one side, from left to right. */
export function evidenceIn(sentence: string): Evidence[] {
  const found: Evidence[] = [];
  let previous = "";
  for (const { token, at } of tokensOf(sentence)) {
    const word = lowerCase(token);
    const evidence = addressEvidence(token, at) ?? wordEvidence(word, previous, at) ?? nameEvidence(word, at);
    if (evidence !== null) found.push(evidence);
    previous = word;
  }
  return found;
}

interface Token {
  readonly token: string;
  readonly at: number;
}

/** Blanks, quotes, brackets and commas part tokens; everything else may stand inside one. */
const PARTING = new Set(" \t\r\n\"'`()[]{}<>,;|\\");
/** Punctuation at a token's edges belongs to the sentence. */
const EDGE = new Set(":.!?=&#");
/** Longer tokens are data (base64, certificates), no words. */
const LONGEST_TOKEN = 2048;

function tokensOf(sentence: string): Token[] {
  const tokens: Token[] = [];
  let start = 0;
  for (let i = 0; i <= sentence.length; i++) {
    if (i < sentence.length && !PARTING.has(sentence.charAt(i))) continue;
    if (i > start && i - start <= LONGEST_TOKEN) pushTrimmed(tokens, sentence, start, i);
    start = i + 1;
  }
  return tokens;
}

function pushTrimmed(tokens: Token[], sentence: string, from: number, to: number): void {
  let [start, end] = [from, to];
  while (start < end && EDGE.has(sentence.charAt(start))) start++;
  while (end > start && EDGE.has(sentence.charAt(end - 1))) end--;
  if (end > start) tokens.push({ token: sentence.slice(start, end), at: start });
}

function addressEvidence(token: string, at: number): Evidence | null {
  const side = askedUrl(token);
  return side === null ? null : { at, side, weight: "address" };
}

function wordEvidence(word: string, previous: string, at: number): Evidence | null {
  const pair = `${previous} ${word}`;
  if (KUBERNETES_PAIRS.has(pair) || KUBERNETES_NAMES.has(word)) return { at, side: "kubernetes", weight: "name" };
  if (OTHER_PAIRS.has(pair) || OTHER_WORDS.has(word)) return { at, side: "other", weight: "word" };
  if (KUBERNETES_WORDS.has(word)) return { at, side: "kubernetes", weight: "word" };
  return KUBERNETES_NOUNS.has(word) ? { at, side: "noun", weight: "word" } : null;
}

/** Source files of client-go that only report its own requests. */
const CLIENT_FILES = ["reflector.go:", "leaderelection.go:", "retrywatcher.go:", "round_trippers.go:", "client-go"];
/** What a program's own client libraries are called in their types and packages. */
const CLIENT_NAMES = [
  ...[
    "kubernetes.client",
    "fabric8.kubernetes",
    "kubernetes_asyncio",
    "kubernetesclient",
    "kubeclient::",
    "k8s.autorest",
  ],
  ...["kube::", "kube_client::", "kube_runtime::", "pykube", "lightkube", "skuber", "swiftkube", "k8s.client"],
  ...[
    "@kubernetes/client-node",
    "kubernetesapiexception",
    "phpk8s",
    "k8s::",
    "k8s.io/client-go",
    "kubeops",
    "kubernetes/",
    "kubernetes_",
    "watchconnectionmanager",
    "openshift.dynamic",
  ],
];

/** Names that are made of parts: Go types, files, packages, exceptions. */
function nameEvidence(word: string, at: number): Evidence | null {
  if (isGoType(word)) return { at, side: "kubernetes", weight: "name" };
  if (CLIENT_FILES.some(f => word.includes(f)) || CLIENT_NAMES.some(n => word.includes(n))) {
    return { at, side: "kubernetes", weight: "name" };
  }
  const part = partEvidence(word);
  if (part !== null) return { at, side: part, weight: "name" };
  if (isObjectName(word)) return { at, side: "noun", weight: "name" };
  return isNamedAfterOther(word) ? { at, side: "other", weight: "name" } : null;
}

/** `output:splunk:splunk.0`, `filter:kubernetes`: plugins are named by the service they speak to. */
function partEvidence(word: string): Side | null {
  if (!word.includes(":") || word.startsWith("system:")) return null;
  const parts = word.split(":", 4);
  if (parts.some(part => OTHER_WORDS.has(part))) return "other";
  return parts.some(part => KUBERNETES_NAMES.has(part)) ? "kubernetes" : null;
}

/** `namespace/name` */
function isObjectName(word: string): boolean {
  const slash = word.indexOf("/");
  return slash > 0 && slash < word.length - 1 && slash === word.lastIndexOf("/") && !word.includes(".");
}

/** `*v1.Pod`, `*unstructured.Unstructured`, `/v1`: what client-go lists and watches. */
function isGoType(word: string): boolean {
  if (word.startsWith("*")) return word.includes(".");
  const version = word.slice(word.lastIndexOf("/") + 1);
  return word.includes("/v") && version.startsWith("v") && isDigitCode(version.charCodeAt(1)) && !word.includes(":");
}

/** `docker.errors.APIError`, `vault.api:`, `resource.labels.vault`: a name whose first part is another service. */
function isNamedAfterOther(word: string): boolean {
  // Frameworks name exceptions after the status they answer their own callers with; Kubernetes' clients don't.
  if (word.endsWith("unauthorizedexception") || word.endsWith("unauthorizederror")) return true;
  const dot = word.indexOf(".");
  if (dot <= 0) return false;
  if (word.slice(0, dot).endsWith("_client")) return true;
  const isFailure = word.includes("error") || word.includes("exception") || word.includes("unauthorized");
  return isFailure && word.split(".", 4).some(part => OTHER_WORDS.has(part) || OTHER_CLIENTS.has(part));
}

const OTHER_CLIENTS = new Set([
  ...["botocore", "boto3", "requests_oauthlib", "keystoneauth1", "pymongo", "psycopg2", "ldap3", "jenkinsapi", "hvac"],
  ...[
    "amazonaws",
    "awssdk",
    "msal",
    "msrestazure",
    "adal",
    "googleapiclient",
    "octokit",
    "jgit",
    "okhttp3",
    "sonatype",
  ],
]);
