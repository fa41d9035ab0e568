import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import type { BindingKind, BindingView, SubjectView } from "../../core/views";
import { hasExpiryKey } from "./conventions";
import type { Scope } from "./observed";
import { markedOf } from "./schedule";

type Bound = Pick<BindingView | BindingStatus, "subjects">;
type Accounts = Pick<Scope, "namespace" | "serviceAccounts">;

/** Reports whether the spec names the binding; a spec that names none means bindings with the targets' ServiceAccounts as subjects. */
export function isListed(spec: BindingRenewalSpec, kind: BindingKind, name: string): boolean {
  return spec.bindings.some(binding => binding.kind === kind && binding.name === name);
}

/** Reports whether one of the ServiceAccounts is among the subjects. */
export function bindsTarget({ subjects = [] }: Bound, scope: Accounts): boolean {
  return subjects.some(
    subject => isAccountOf(subject, scope.namespace) && scope.serviceAccounts.includes(subject.name),
  );
}

/** Reports whether the subject is a ServiceAccount of the targets. */
export function isPinned(subject: SubjectView, { namespace, pinned }: Scope): boolean {
  return isAccountOf(subject, namespace) && pinned.includes(subject.name);
}

/** Reports whether an unlisted binding is in scope: it expires, and binds one of these ServiceAccounts of the namespace. */
export function isInScope(view: BindingView, namespace: string, serviceAccounts: readonly string[]): boolean {
  return bindsTarget(view, { namespace, serviceAccounts }) && hasExpiryKey(markedOf(view));
}

/** Reports whether the other subjects cannot be assessed yet: a target is missing and may run as one of them. */
export function isUndecided({ subjects = [] }: Bound, scope: Scope): boolean {
  const known = subjects.every(({ name }) => scope.serviceAccounts.includes(name));
  return scope.missingTargets.length > 0 && !known && subjects.every(subject => isAccountOf(subject, scope.namespace));
}

/**
 * Why the subjects forbid a renewal, as the end of a sentence that begins with the binding; undefined if they do not. The author of an
 * object may renew access of ServiceAccounts of its namespace only, and without a list only of those of the targets.
 */
export function refusalOf(binding: Bound, scope: Accounts, listed: boolean): string | undefined {
  const { subjects = [] } = binding;
  if (subjects.length === 0) return "has no subjects";
  const foreign = subjects.find(subject => !isAccountOf(subject, scope.namespace));
  if (foreign !== undefined) {
    return `also binds ${describeSubject(foreign)}, which is not a ServiceAccount of namespace ${scope.namespace}`;
  }
  const other = listed ? undefined : subjects.find(({ name }) => !scope.serviceAccounts.includes(name));
  if (other === undefined) return undefined;
  return `${bindsTarget(binding, scope) ? "also binds" : "binds"} ServiceAccount ${other.name}, which no target runs as`;
}

function isAccountOf(subject: SubjectView, namespace: string): boolean {
  const { kind, apiGroup = "" } = subject;
  return kind === "ServiceAccount" && apiGroup === "" && subject.namespace === namespace;
}

function describeSubject({ kind, name, namespace }: SubjectView): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
