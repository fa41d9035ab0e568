import type { Steps } from "../core/slices";
import { classify, isFromOtherPod, scanInSteps, unwrap, type PodName } from "./classifier/index";
import { recordEnd } from "./classifier/records";
import { has401 } from "./classifier/required-literals";
import type { FindUnauthorized } from "./reading/container-log";

/** Finds 401s in a log. */
export interface Finder {
  readonly find: FindUnauthorized;
  /** Whether one whole record is a 401. */
  readonly isUnauthorized: (record: string) => boolean;
}

/** Creates a finder from the classifier and `spec.tokenRestart.extraPhrases`. */
export function createFinder(extraPhrases: readonly string[]): Finder {
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

/** Finds 401s with the classifier only. */
export const findByClass: FindUnauthorized = (text, onRecord, pod) =>
  scanInSteps(text, (cls, start, end) => {
    if (cls === "unauthorized" && isOwn(text.toString("utf8", start, end), pod)) onRecord(start);
  });

/**
 * Finds every record with a 401, whoever was answered it by whom: also those that the classifier leaves out because they say nothing about
 * the API server, such as the kubelet's answer to the pod's own token.
 */
export const findAny: FindUnauthorized = (text, onRecord, pod) =>
  findEach(text, record => isAnyUnauthorized(record) && isOwn(record, pod), onRecord);

/** Reports whether a record has a 401 of any kind. */
export function isAnyUnauthorized(record: string): boolean {
  return has401(record) || /\bunauthorized\b/i.test(record) || classify(record) === "unauthorized";
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
