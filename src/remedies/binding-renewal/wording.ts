import type { BindingStatus } from "../../api/controller-resilience";
import type { Right } from "../../core/readers";
import { latestMs, timeOf } from "./record";
import { ruleOf } from "./rights";
import type { Schedule } from "./schedule";

/** `RoleBinding edit`. Odd names are quoted: a binding's name may hold any character but a slash. */
export function nameOf({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind} ${quoted(name)}`;
}

function quoted(name: string): string {
  return /^[\w.:-]+$/.test(name) ? name : JSON.stringify(name);
}

/** `RoleBinding edit expires at 2025-01-31T00:00:00Z (janitor/ttl)`. */
export function expiryOf(
  binding: Pick<BindingStatus, "kind" | "name">,
  { expiryMs, sources }: Pick<Schedule, "expiryMs" | "sources">,
): string {
  return `${nameOf(binding)} expires at ${timeOf(expiryMs)} (${sources.join(", ")})`;
}

/** The command that creates a binding like this one; without its subjects, which status does not have. */
export function creationOf({ kind, name, namespace, roleRef }: BindingStatus): string {
  const within = namespace === undefined ? "" : ` --namespace ${namespace}`;
  const role = roleRef === undefined ? "" : ` --${roleRef.kind.toLowerCase()} ${quoted(roleRef.name)}`;
  return `kubectl create ${kind.toLowerCase()} ${quoted(name)}${within}${role} --serviceaccount NAMESPACE:NAME`;
}

/** Why the operator does not bind a role, and what a person can do. */
export function tooPowerful({ kind, name }: { readonly kind: string; readonly name: string }, excess: string): string {
  return `${kind} ${name} ${excess}, so an operator that binds it is as good as cluster-admin; create a narrower role for the ServiceAccount`;
}

/** Who moved the expiry is unknown: a person who revokes access, or a tool that reverts a renewal. */
export function describeContest(
  record: BindingStatus,
  { expiryMs, sources }: Pick<Schedule, "expiryMs" | "sources">,
): string {
  const [keys, latest, present] = [sources.join(", "), timeOf(latestMs(record)), timeOf(expiryMs)];
  const resume = "set that expiry or a later one, recreate the binding, or change spec.bindingRenewal.";
  return record.renewedUntil === latest
    ? `another writer reverted the renewal until ${latest}, and the operator stops renewing it; it expires at ${present} (${keys}). ` +
        `To renew it again, ${resume} If Git contains ${keys}, first remove it there, or renew it in Git.`
    : `another writer moved the expiry to ${present}: an earlier expiry counts as a revocation, so the operator does not renew the binding. ` +
        `The expiry was ${latest} (${keys}). To renew it again, ${resume}`;
}

/** The rules to add, each as YAML in one line. */
export function rulesOf(rights: readonly Right[]): string {
  return rights.map(ruleOf).join(" and ");
}
