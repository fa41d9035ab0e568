import type { BindingStatus } from "../../api/controller-resilience";
import type { BindingKind, BindingView, SubjectView } from "../../core/views";
import { hasExpiryKey } from "./conventions";
import type { BindingRenewalFacts, Spec } from "./facts";
import { markedOf } from "./schedule";

type Bound = Pick<BindingView | BindingStatus, "subjects">;
type Scope = Pick<BindingRenewalFacts, "namespace" | "serviceAccounts">;

/** Whether the spec names its bindings; else they are found by their subjects. */
export function isListed(spec: Spec, kind: BindingKind, name: string): boolean {
  return spec.bindings.some(binding => binding.kind === kind && binding.name === name);
}

/** Whether a binding gives rights to a ServiceAccount of the targets, among whomever else. */
export function concernsTargets({ subjects = [] }: Bound, scope: Scope): boolean {
  return subjects.some(
    subject => isAccountOf(subject, scope.namespace) && scope.serviceAccounts.includes(subject.name),
  );
}

/** Whether an unlisted binding is this object's business: it expires, and a ServiceAccount of the targets lives by it. */
export function isFound(view: BindingView, scope: Scope): boolean {
  return concernsTargets(view, scope) && hasExpiryKey(markedOf(view));
}

/** Whether it can't be told yet who else a binding is for: a target is missing, and one of its subjects may be what that runs as. */
export function isUndecided(
  { subjects = [] }: Bound,
  scope: Scope & Pick<BindingRenewalFacts, "missingTargets">,
): boolean {
  const known = subjects.every(({ name }) => scope.serviceAccounts.includes(name));
  return scope.missingTargets.length > 0 && !known && subjects.every(subject => isAccountOf(subject, scope.namespace));
}

/**
 * Why a binding is not renewed whatever its expiry, as the end of a sentence that begins with its name; undefined where nothing speaks
 * against it. An author's reach ends at the ServiceAccounts of the object's own namespace, and where nothing is listed, at those of the
 * targets.
 */
export function refusalOf(binding: Bound, scope: Scope, listed: boolean): string | undefined {
  const { subjects = [] } = binding;
  if (subjects.length === 0) return "has no subjects";
  const foreign = subjects.find(subject => !isAccountOf(subject, scope.namespace));
  if (foreign !== undefined) {
    return `also binds ${describeSubject(foreign)}, which is no ServiceAccount of namespace ${scope.namespace}`;
  }
  const other = listed ? undefined : subjects.find(({ name }) => !scope.serviceAccounts.includes(name));
  return other === undefined ? undefined : `also binds ServiceAccount ${other.name}, which no target runs as`;
}

function isAccountOf({ kind, apiGroup = "", namespace }: SubjectView, own: string): boolean {
  return kind === "ServiceAccount" && apiGroup === "" && namespace === own;
}

function describeSubject({ kind, name, namespace }: SubjectView): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
