import type { Steps } from "../core/slices";
import { classify } from "./classifier/classify";
import { isFromOtherPod, type PodName } from "./classifier/other-pod";
import { recordEnd, scanInSteps } from "./classifier/scan-log";
import { has401 } from "./classifier/literals";
import { parseRecord, type Sentence } from "./classifier/parse-record";
import { codeAnswers, UNAUTHORIZED } from "./classifier/status-codes";
import { lowerCase } from "./classifier/text";
import { unwrap } from "./classifier/unwrap";
import type { FindUnauthorized } from "./reading/container-log";
import { type DeniedRequest, KUBELETS_401, REFUSED, REFUSED_WRITE, THROTTLED, topicOf } from "./traces";

/** Finds 401s in a log. */
export interface Finder {
  readonly find: FindUnauthorized;
  /** Whether one whole record is a 401. */
  readonly isUnauthorized: (record: string) => boolean;
}

/** Creates a finder from the classifier and `spec.tokenRestart.extraPhrases`. */
export function createFinder(extraPhrases: readonly string[] = []): Finder {
  const phrases = extraPhrases.map(phrase => phrase.toLowerCase());
  const hasPhrase = (record: string): boolean => {
    const text = unwrap(record).toLowerCase();
    return phrases.some(phrase => text.includes(phrase));
  };
  if (phrases.length === 0) return { find: findByClass, isUnauthorized: record => classify(record) === "unauthorized" };
  return {
    isUnauthorized: record => classify(record) === "unauthorized" || hasPhrase(record),
    *find(text, onRecord, pod) {
      yield* findByClass(text, onRecord, pod);
      yield* findEach(text, record => hasPhrase(record) && isOwn(record, pod), onRecord);
    },
  };
}

/** Finds 401s with the classifier only, and as a topic those of the kubelet. */
export const findByClass: FindUnauthorized = (text, onRecord, pod) =>
  scanInSteps(text, (cls, start, end) => {
    if (cls !== "unauthorized" && cls !== "none") return;
    const record = text.toString("utf8", start, end);
    if (!isOwn(record, pod)) return;
    if (cls === "unauthorized") onRecord(start);
    else if (isKubelets401(record)) onRecord(start, KUBELETS_401);
  });

/** How agents name the kubelet that they asked. What the API server asks it, such as for logs, is not meant. */
const KUBELET =
  /failed to scrape node|(?:metrics from|reach the|querying|in) kubelet|:10250(?!\/(?:containerlogs|exec|attach|portforward)\/)/i;

/** Reports whether a record that says nothing about the API server has a 401 of the kubelet. */
export function isKubelets401(record: string): boolean {
  return KUBELET.test(record) && isAnyUnauthorized(record);
}

/**
 * Finds every record with a 401, of any client and server: also those that the classifier leaves out because they say nothing about
 * the API server, such as the kubelet's answer to the pod's own token.
 */
export const findAny: FindUnauthorized = (text, onRecord, pod) =>
  findEach(text, record => isAnyUnauthorized(record) && isOwn(record, pod), onRecord);

/** Beside such words a 401 is a status, whatever its form: a trial must not take a refusal for silence. None of them, as in `, 0 errors`, says nothing; `shard 0 failed` is a name. */
const OF_REQUESTS =
  /(?<![,;(] ?0 )\b(?:err|fail|reject|refus|den(?:y|ied)|token|credential|(?:get|post|put|patch|delete) \/)(?!\w*"?[:=] ?0\b)|https?:/i;

/** Reports whether a record has a 401 of any kind: not a count, such as `synced 401 objects`. */
export function isAnyUnauthorized(record: string): boolean {
  return /\bunauthorized\b/i.test(record) || classify(record) === "unauthorized" || hasStatus401(record);
}

function hasStatus401(record: string): boolean {
  const isStatus = ({ key, text }: Sentence): boolean => codeAnswers(key, lowerCase(text), UNAUTHORIZED).length > 0;
  return has401(record) && (OF_REQUESTS.test(record) || parseRecord(record).sentences.some(isStatus));
}

/** Whether a record is not one that a log shipper printed for another pod; true if the pod is not known. */
function isOwn(record: string, pod: PodName | undefined): boolean {
  return pod === undefined || !isFromOtherPod(record, pod);
}

/** May report a record that the classifier has reported; a repeated 401 changes nothing. */
function* findEach(text: Buffer, isFound: (record: string) => boolean, onRecord: (start: number) => void): Steps {
  for (let start = 0; start < text.length; ) {
    const end = recordEnd(text, start);
    if (isFound(text.toString("utf8", start, end))) onRecord(start);
    start = end;
    yield;
  }
}

const VERBS = "get|list|watch|create|update|patch|delete|deletecollection";

/**
 * The sentence of the API server's RBAC authorizer. Quotes are escaped where a log has it inside of JSON, which may be inside of other JSON.
 * Each part is bounded, and no part can match what the next one begins with, so the time is linear.
 */
const SENTENCE = new RegExp(
  [
    /user \\{0,3}"system:serviceaccount:(?<namespace>[a-z0-9-]{1,63}):(?<name>[a-z0-9.-]{1,253})\\{0,3}" cannot /,
    new RegExp(`(?<verb>${VERBS}) `),
    /resource \\{0,3}"(?<resource>[a-z0-9-]{1,63}(?:\/[a-z0-9-]{1,63})?)\\{0,3}"/,
    /(?: in api group \\{0,3}"(?<group>[a-z0-9.-]{0,253})\\{0,3}")?/,
    /(?: in the namespace \\{0,3}"(?<where>[a-z0-9-]{1,63})\\{0,3}"| at the cluster scope)/,
  ]
    .map(({ source }) => source)
    .join(""),
  "i",
);

/** Returns which request a record says was denied; undefined if it does not name one of a ServiceAccount. */
export function deniedIn(record: string): DeniedRequest | undefined {
  const found = SENTENCE.exec(record)?.groups;
  if (found === undefined) return undefined;
  const { namespace = "", name = "", verb = "", resource = "", group = "", where } = lowered(found);
  const serviceAccount = { namespace, name };
  return { serviceAccount, verb, resource, group, ...(where === undefined ? {} : { namespace: where }) };
}

function lowered(groups: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(groups).map(([key, value]) => [key, value?.toLowerCase()]));
}

/** client-go says this of its own limit when a deadline is near, whatever took the time. */
const NO_TIME_LEFT = "client rate limiter Wait returned an error";

/**
 * What only an answer of the API server looks like, since a program also gets a 429 from clouds and registries: client-go
 * (rest/with_retry.go), apimachinery (NewGenericServerResponse), kubectl, the Python client, and a Status object in JSON or as fabric8 prints
 * it. Not the number, which leaderelection.go has as the line of a frequent message.
 */
const REFUSALS = [
  /server-side throttling|server has received too many requests|error from server \(toomanyrequests\)/i,
  /\bkubernetes(?:_asyncio)?\.client\.(?:exceptions|rest)\.ApiException: \(429\)/,
  /"kind\\{0,3}": ?\\{0,3}"Status\\{0,3}"[^]{0,2000}"reason\\{0,3}": ?\\{0,3}"TooManyRequests/,
  /\bStatus\(apiVersion=v1, code=429,/,
];

/** The Eviction API answers 429 for a PodDisruptionBudget, whatever the rate. */
const EVICTION = "disruption budget";

/** Answers of webhooks, policies and quotas, and 422, to writes of this process. */
const REFUSED_WRITES =
  /admission webhook \\{0,3}"[^"]{1,253}" denied the request|validatingadmissionpolicy [^]{1,600} denied request|: exceeded quota: | \\{0,3}"[^" ]{1,253}" is invalid: /i;

/** Finds 401s, and as topics denied requests, refused writes, lost Leases, throttling, and which of it is a refusal of the API server. */
export const findStalls: FindUnauthorized = (text, onRecord, pod) =>
  scanInSteps(text, (cls, start, end) => {
    const record = text.toString("utf8", start, end);
    if (pod !== undefined && isFromOtherPod(record, pod)) return;
    if (REFUSED_WRITES.test(record)) onRecord(start, REFUSED_WRITE);
    if (cls === "unauthorized") onRecord(start);
    else if (cls === "forbidden") noteDenied(record, topic => onRecord(start, topic));
    else if (cls !== "none") noteOther(cls, record, topic => onRecord(start, topic));
  });

function noteOther(cls: string, record: string, note: (topic: string) => void): void {
  if (!(cls === THROTTLED && record.includes(NO_TIME_LEFT))) note(cls);
  if (isRefused(record)) note(REFUSED);
}

/** A Lease that is lost because of a 429 is a lost Lease. */
function isRefused(record: string): boolean {
  return !record.includes(EVICTION) && REFUSALS.some(refusal => refusal.test(record));
}

function noteDenied(record: string, note: (topic: string) => void): void {
  const denied = deniedIn(record);
  if (denied !== undefined) note(topicOf(denied));
}
