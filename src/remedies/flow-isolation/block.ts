import { createHash } from "node:crypto";
import { canonical } from "../../core/json";
import type { Spec } from "./facts";

/** Hexadecimal digits: two versions of one block have the same hash once in 10^19 changes. */
const DIGITS = 16;

/**
 * Hash of spec.flowIsolation: tells whether a person changed the block since a flow was given up. The fields are named one by one, so that a
 * field that a later version of the CRD adds does not change the hash. Add such a field only where it is not its default.
 */
export function hashOfBlock({ priorityLevel, requestRate }: Spec): string {
  const { threshold, for: over, onRunaway, release } = requestRate;
  const fields = canonical([priorityLevel, threshold, over, onRunaway, release]);
  return createHash("sha256").update(fields).digest("hex").slice(0, DIGITS);
}
