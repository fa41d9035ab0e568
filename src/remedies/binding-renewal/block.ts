import { createHash } from "node:crypto";
import type { BindingRenewalSpec, TargetSelector } from "../../api/controller-resilience";

/** Hexadecimal digits: two versions of one block have the same hash once in 10^19 changes. */
const DIGITS = 16;

/**
 * Hash of spec.bindingRenewal: tells whether a person has changed the block since an entry of status was written. The fields are named one
 * by one, so that a field that a later version of the CRD adds does not change the hash. Add such a field only where it is not its default.
 */
export function hashOfBlock(block: BindingRenewalSpec): string {
  const { warnBefore, renewBefore, extendBy, renewUntil = null } = block;
  const bindings = block.bindings.map(({ kind, name }) => [kind, name]);
  return hashOf([bindings, warnBefore, renewBefore, extendBy, renewUntil]);
}

/** Hash of one target and of spec.bindingRenewal. */
export function hashOfTarget({ kind, name, selector = {} }: TargetSelector, block: BindingRenewalSpec): string {
  const labels = Object.entries(selector.matchLabels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => [
    key,
    operator,
    values,
  ]);
  return hashOf([hashOfBlock(block), kind, name ?? null, labels, expressions]);
}

function hashOf(fields: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(fields)).digest("hex").slice(0, DIGITS);
}
