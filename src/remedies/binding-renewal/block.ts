import { createHash } from "node:crypto";
import type { BindingRenewalSpec } from "../../api/controller-resilience";

/** Hexadecimal digits: two versions of one block have the same hash once in 10^19 changes. */
const DIGITS = 16;

/**
 * Hash of spec.bindingRenewal: tells whether a person has changed the block since an entry of status was written. The fields are named one
 * by one, so that a field that a later version of the CRD adds does not change the hash. Add such a field only where it is not its default.
 */
export function hashOfBlock(block: BindingRenewalSpec): string {
  const { warnBefore, renewBefore, extendBy, renewUntil = null, restoreExpired } = block;
  const bindings = block.bindings.map(({ kind, name }) => [kind, name]);
  const fields = [bindings, warnBefore, renewBefore, extendBy, renewUntil, restoreExpired];
  return createHash("sha256").update(JSON.stringify(fields)).digest("hex").slice(0, DIGITS);
}
