import type { Steps } from "../core/slices";
import { classify, compilePatterns, scanInSteps } from "./classifier/index";
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
    *find(text, onRecord) {
      yield* findByClass(text, onRecord);
      yield* findByPattern(text, compiled.match, onRecord);
    },
  };
}

/** Finds 401s with the classifier only. */
export const findByClass: FindUnauthorized = (text, onRecord) =>
  scanInSteps(text, (cls, start) => {
    if (cls === "unauthorized") onRecord(start);
  });

/** May report a record that the classifier has reported; a repeated 401 changes nothing. */
function* findByPattern(text: Buffer, match: (record: string) => boolean, onRecord: (start: number) => void): Steps {
  for (let start = 0; start < text.length; ) {
    const end = recordEnd(text, start);
    if (match(text.toString("utf8", start, end))) onRecord(start);
    start = end;
    yield;
  }
}
