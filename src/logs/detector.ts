import type { Steps } from "../core/slices";
import { classify, compilePatterns, isFromOtherPod, scanInSteps, type PodName } from "./classifier/index";
import { recordEnd } from "./classifier/records";
import type { FindUnauthorized } from "./reading/container-log";

/** Finds 401s in a log; `invalid` says which patterns of the spec are not valid. */
export type Finder =
  | {
      readonly find: FindUnauthorized;
      /** Whether one whole record is a 401. */
      readonly isUnauthorized: (record: string) => boolean;
    }
  | { readonly invalid: string };

/** Creates a finder from the classifier and the user's patterns, which run in linear time. */
export function createFinder(extraPatterns: readonly string[]): Finder {
  const compiled = compilePatterns(extraPatterns);
  if (!compiled.ok) {
    const sentences = compiled.errors.map(
      ({ index, position, message }) => `extraPatterns[${index}] is not valid at position ${position}: ${message}.`,
    );
    return { invalid: sentences.join(" ") };
  }
  const isUnauthorized = (record: string): boolean => classify(record) === "unauthorized" || compiled.match(record);
  if (extraPatterns.length === 0) return { find: findByClass, isUnauthorized };
  return {
    isUnauthorized,
    *find(text, onRecord, pod) {
      yield* findByClass(text, onRecord, pod);
      const isMatch = (record: string): boolean => compiled.match(record) && isOwn(record, pod);
      yield* findByPattern(text, isMatch, onRecord);
    },
  };
}

/** Finds 401s with the classifier only. */
export const findByClass: FindUnauthorized = (text, onRecord, pod) =>
  scanInSteps(text, (cls, start, end) => {
    if (cls === "unauthorized" && isOwn(text.toString("utf8", start, end), pod)) onRecord(start);
  });

/** Whether a record is not one that a log shipper printed for another pod; true if the pod is not known. */
function isOwn(record: string, pod: PodName | undefined): boolean {
  return pod === undefined || !isFromOtherPod(record, pod);
}

/** May report a record that the classifier has reported; a repeated 401 changes nothing. */
function* findByPattern(text: Buffer, match: (record: string) => boolean, onRecord: (start: number) => void): Steps {
  for (let start = 0; start < text.length; ) {
    const end = recordEnd(text, start);
    if (match(text.toString("utf8", start, end))) onRecord(start);
    start = end;
    yield;
  }
}
