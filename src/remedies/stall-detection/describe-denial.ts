import { toSeconds } from "../../core/time";
import { describeRequest, type Denial } from "./denials";
import type { LostBinding } from "./lost-bindings";
import { workloadId, type PresentBinding } from "./observed";
import type { Scope } from "./scope";

/** Bindings that a message names. */
const NAMED = 2;

/** What happened, what had allowed it, and what to do. `known` is what an earlier process saw: kind and name. */
export function describeDenial(denial: Denial, known: string | undefined, scope: Scope): string {
  const { request, lost } = denial;
  const account = `ServiceAccount ${request.serviceAccount.name}`;
  const what = `${workloadId(scope.workload.view)} may no longer ${describeRequest(request)}`;
  if (lost !== undefined) return `${what}: ${describeLost(lost, account)}. ${adviceFor(lost)}`;
  if (known !== undefined) return `${what}: ${known} had allowed it. Restore it; a restart cannot help.`;
  const { serviceAccount, namespace } = request;
  const present = scope.observed.bindings.filter(
    binding =>
      binding.serviceAccounts.includes(`${serviceAccount.namespace}/${serviceAccount.name}`) &&
      (binding.kind === "ClusterRoleBinding" || binding.namespace === namespace),
  );
  if (present.length === 0) return `${what}: no binding names ${account} there. Create one.`;
  return `${what}: ${describePresent(present)} still ${present.length === 1 ? "names" : "name"} ${account}. Check what the role allows.`;
}

function describeLost({ kind, name, role, how, atMs, expiry }: LostBinding, account: string): string {
  const at = toSeconds(new Date(atMs));
  const past = how === "deleted" ? `was deleted at ${at}` : `no longer names ${account} since ${at}`;
  const why = expiry === undefined ? "" : `, after the time in its key ${expiry}`;
  return `${kind} ${name} (${role}) ${past}${why}`;
}

function adviceFor({ expiry }: LostBinding): string {
  const advice = "Restore it; a restart cannot help.";
  return expiry === undefined ? advice : `${advice} spec.bindingRenewal renews bindings before they expire.`;
}

function describePresent(present: readonly PresentBinding[]): string {
  const names = present.slice(0, NAMED).map(({ kind, name, role }) => `${kind} ${name} (${role})`);
  const rest = present.length - names.length;
  return [...names, ...(rest > 0 ? [`${rest} more`] : [])].join(" and ");
}
