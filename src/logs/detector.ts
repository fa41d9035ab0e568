import type { Steps } from "../core/slices";
import { classify, compilePatterns, scanInSteps } from "./classifier/index";
import { recordEnd } from "./classifier/records";
import type { FindUnauthorized } from "./reading/container-log";

/** What finds 401s in a log, or why the patterns of the spec can't be used. */
export type Finder =
  | {
      readonly find: FindUnauthorized;
      /** The same for one record that is known to be one. */
      readonly isUnauthorized: (record: string) => boolean;
    }
  | { readonly invalid: string };

/** The classifier, and beside it the user's patterns on an engine that needs linear time. */
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

/** Finds them by the classifier alone. */
export const findByClass: FindUnauthorized = (text, onRecord) =>
  scanInSteps(text, (cls, start) => {
    if (cls === "unauthorized") onRecord(start);
  });

/** The same record may be found both ways; an occasion does not mind. */
function* findByPattern(text: Buffer, match: (record: string) => boolean, onRecord: (start: number) => void): Steps {
  for (let start = 0; start < text.length; ) {
    const end = recordEnd(text, start);
    if (match(text.toString("utf8", start, end))) onRecord(start);
    start = end;
    yield;
  }
}
